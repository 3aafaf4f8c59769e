"""Forty-eight sentences of many kinds: statistics are about texts as people have them."""

from __future__ import annotations

SENTENCES = """\
Could you book a table for four at seven on Friday?
The invoice from last month still has not been paid.
My daughter has had a fever since yesterday evening.
How do I reset the password of my router?
The museum opens at ten and closes at six.
Two goals in the last minute decided the match.
I would like to cancel my subscription, please.
The bridge was built by Italian engineers in the nineteenth century.
Add the flour slowly while stirring the butter.
She has worked for the same company for twenty years.
This vacuum cleaner is far too loud for a small flat.
What is the capital of the largest island in the Mediterranean?
The server returns an error when the file is larger than two megabytes.
Please remind me to call the dentist tomorrow.
A man in a red jacket is riding a bicycle down the street.
The committee rejected the proposal by a narrow majority.
lol that was the best concert ever
Does anybody know a good plumber near the station?
Interest rates rose for the third time this year.
The cat knocked the vase off the shelf again.
Patients with diabetes should have their eyes checked every year.
He apologised for the delay and offered us a refund.
Turn left after the church, then it is the second house on the right.
Machine translation has improved a great deal in recent years.
The hotel room smelled of smoke and the staff were rude.
Play some quiet jazz in the living room.
Which protein carries oxygen in the blood?
We are looking for a nurse for the night shift.
The volcano has been silent for four hundred years.
My flight to Oslo was cancelled because of the snow.
The novel tells the story of three sisters in a small town.
Transfer two hundred euros to my savings account.
Why does my cat sleep on the keyboard?
The software is distributed under a permissive licence.
I can't believe it's already November!
Prices of copper and zinc fell sharply on Monday.
Thanks for the birthday wishes, everyone.
The judge ordered the company to pay damages.
Rinse the rice until the water runs clear.
Is there a train to the airport after midnight?
The jacket fits well, but the zip broke after a week.
Researchers found traces of water in the rock.
Could someone explain what a monad is?
The children built a castle of sand at the beach.
Your parcel will be delivered between nine and noon.
They moved to the countryside to escape the noise.
The choir will sing in the old cathedral on Sunday.
Set an alarm for half past five in the morning.
""".splitlines()
