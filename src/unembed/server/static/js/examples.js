// Sentences for the dice: everyday ones, and some that nobody would want to leak.
const EXAMPLES = [
  "The test results came back positive.",
  "I haven't told my wife about the money.",
  "Please send the contract to my lawyer.",
  "She is leaving the company in March.",
  "My father was taken to the hospital last night.",
  "We will announce the merger on Monday.",
  "He lost his job because of his drinking.",
  "The key is under the stone by the door.",
  "I think that Tom is lying to the police.",
  "Our flight to Boston leaves at six.",
  "They want to sell the house before winter.",
  "I have been learning French for two years.",
  "The children were playing in the garden.",
  "It's too cold to go swimming today.",
  "Can you tell me where the station is?",
  "He forgot to close the window again.",
];
let last = -1;

export function example() {
  let next = Math.floor(Math.random() * EXAMPLES.length);
  if (next === last) next = (next + 1) % EXAMPLES.length;
  last = next;
  return EXAMPLES[next];
}
