// A vector as a strip of colour: one bar a number, blue below zero, red above, pale at zero.
const STOPS = [[59, 76, 192], [141, 176, 254], [221, 220, 220], [244, 154, 123], [180, 4, 38]];

function colour(value) {
  const scaled = ((Math.max(-1, Math.min(1, value)) + 1) / 2) * (STOPS.length - 1);
  const left = Math.min(STOPS.length - 2, Math.floor(scaled));
  const part = scaled - left;
  const mix = STOPS[left].map((a, i) => Math.round(a + (STOPS[left + 1][i] - a) * part));
  return `rgb(${mix.join(" ")})`;
}

/** Draw on the canvas; the range is that of a typical large number, so that outliers do not pale the rest. */
export function drawStrip(canvas, vector, reference) {
  const ratio = Math.min(devicePixelRatio || 1, 2);
  const box = canvas.getBoundingClientRect();
  canvas.width = Math.max(1, Math.round(box.width * ratio));
  canvas.height = Math.max(1, Math.round(box.height * ratio));
  const sizes = reference.map(Math.abs).sort((a, b) => a - b);
  const range = sizes[Math.floor(0.97 * (sizes.length - 1))] || 1;
  const context = canvas.getContext("2d");
  const rows = box.width < 520 && vector.length > 200 ? 3 : vector.length > 256 ? 2 : 1;
  const perRow = Math.ceil(vector.length / rows);
  const height = canvas.height / rows;
  vector.forEach((value, index) => {
    const [row, column] = [Math.floor(index / perRow), index % perRow];
    const left = Math.floor((column * canvas.width) / perRow);
    const right = Math.floor(((column + 1) * canvas.width) / perRow);
    context.fillStyle = colour(value / range);
    context.fillRect(left, Math.floor(row * height), Math.max(1, right - left), Math.ceil(height) - (rows > 1 ? ratio : 0));
  });
}
