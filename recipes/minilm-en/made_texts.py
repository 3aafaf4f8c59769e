"""Texts that no public corpus has enough of, made by rule: personal details, and texts as people type them.

    pip install faker==40.54.0
    python recipes/minilm-en/made_texts.py --lines 60000 --seed 0 corpora/*.txt.gz > made.txt
    python recipes/minilm-en/made_texts.py --lines 80000 --without-stop 1 corpora/*.txt.gz > typed.txt

Real names, addresses and account numbers cannot be had, and must not be. Faker invents them; the sentences
around them are templates, or sentences of the corpora whose names and numbers are exchanged. The rest are
corpus sentences without their last full stop, and pairs of short ones.
"""

from __future__ import annotations

import argparse
import gzip
import random
import re
import string
import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import islice
from pathlib import Path

from faker import Faker

ENGLISH = ["en_US", "en_GB", "en_IN", "en_CA"]
OTHERS = ["de_DE", "es_ES", "fr_FR", "it_IT", "pt_BR", "nl_NL", "pl_PL", "tr_TR", "sv_SE", "es_MX"]
BORROWED = 40_000  # sentences read from each corpus
DIGITS = re.compile(r"\d+")
LAST_STOP = re.compile(r"[.!?]+$")
SHORT = 9  # words of a sentence that is joined with another

TEMPLATES = """
My name is {name}.
my name is {name} and my phone number is {phone}
This is {name} calling from {company}.
You can reach me at {email}.
Please send it to {email}
email me at {email} when you are done
{email}
Please call {name} at {phone}.
call me back on {phone} after {time}
My number is {phone}, ask for {first}.
I live at {address}.
Please deliver it to {address}.
ship to {address}, {city}
{name}, {address}, {city}
My order number is {order}.
where is my order {order}?
Your tracking number is {code}.
The confirmation code is {code}.
your verification code is {pin}
My PIN is {pin}, please do not tell anyone.
The password for {user} is {password}.
username {user} password {password}
My card number is {card}.
card ending in {last4} was charged {amount}
Please transfer {amount} to {iban}.
My IBAN is {iban}
I was charged {amount} twice on {date}.
We paid {amount} to {company} on {date}.
Invoice {order} from {company} is due on {date}.
{name} was born on {date}.
My date of birth is {date}.
Patient {name}, born {date}, was admitted on {date}.
{first} was diagnosed with {illness} in {year}.
Dr. {last} prescribed {dose} mg of {drug} for {first}.
{name} has an appointment with Dr. {last} on {date} at {time}.
Your appointment is on {date} at {time}.
Please call {name} at the clinic about her test results tomorrow.
{name} works as a {job} at {company}.
{first} {last} is our new {job}.
I met {first} and {other} in {city} last {weekday}.
{first} said that {other} would come at {time}.
Hi {first}, can we move our meeting to {weekday} at {time}?
Dear Mr. {last}, thank you for your letter of {date}.
Dear {first}, please find the contract with {company} attached.
Regards, {name}
{name} owes {other} {amount}.
{name} earns {amount} a year.
The salary of {name} is {amount}.
Flight {flight} from {city} to {town} leaves at {time}.
book a table for {small} people at {time} on {weekday}
remind me to call {first} at {time}
set an alarm for {time}
what is the weather in {city} on {weekday}
send {amount} to {first}
{company} will acquire {rival} for {amount}.
{name}, {job} at {company}, resigned on {date}.
The meeting with {company} is in room {room} at {time}.
Ticket {order}: {first} cannot log in to {url}.
server {host} at {ip} does not answer on port {port}
see {url}
My social security number is {ssn}.
Passport number {code}, issued in {city}.
The licence plate is {plate}.
{first}'s mother's maiden name is {last}.
{name} moved from {city} to {town} in {year}.
{first} turned {small} on {date}.
The keys are with {name} at {address}.
Population of {city}: {number}
It costs {amount} and weighs {number} grams.
version {version} was released on {date}
""".strip().splitlines()

ILLNESSES = [
    "diabetes",
    "asthma",
    "depression",
    "epilepsy",
    "migraine",
    "hepatitis",
    "pneumonia",
    "arthritis",
    "anaemia",
    "leukaemia",
    "eczema",
    "glaucoma",
    "hypertension",
    "bronchitis",
    "dementia",
    "insomnia",
    "psoriasis",
    "tuberculosis",
]
DRUGS = [
    "ibuprofen",
    "metformin",
    "amoxicillin",
    "paracetamol",
    "lisinopril",
    "sertraline",
    "atorvastatin",
    "omeprazole",
    "prednisone",
    "insulin",
    "warfarin",
    "morphine",
    "diazepam",
    "levothyroxine",
    "tramadol",
    "gabapentin",
]
LAST = datetime(2026, 1, 1)  # not today: the same seed gives the same lines
DATES = ["%d %B %Y", "%B %d", "%Y-%m-%d", "%d/%m/%Y"]
TIMES = ["%H:%M", "%I:%M %p", "%I %p"]
WEEKDAYS = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
]


class Details:
    """Invented values for a template's slots, all from one seed."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)
        Faker.seed(seed)
        self._fakers = [Faker(locale) for locale in ENGLISH + OTHERS]
        self._english = self._fakers[: len(ENGLISH)]

    def first_names(self) -> set[str]:
        """Those that English texts may have."""
        people = [
            provider
            for fake in self._english
            for provider in fake.get_providers()
            if provider.__class__.__module__.startswith("faker.providers.person")
        ]
        return {name for provider in people for name in provider.first_names}

    def fill(self, template: str) -> str:
        return re.sub(r"{(\w+)}", lambda found: self.value(found[1]), template)

    def value(self, slot: str) -> str:
        draw = self._draw
        fake, english = draw.choice(self._fakers), draw.choice(self._english)
        faked: dict[str, Callable[[], str]] = {
            "name": lambda: f"{fake.first_name()} {fake.last_name()}",
            "first": fake.first_name, "other": fake.first_name, "last": fake.last_name,
            "email": draw.choice([fake.ascii_free_email, fake.ascii_company_email, fake.ascii_safe_email]),
            "phone": fake.phone_number, "user": fake.user_name, "url": fake.url,
            "address": english.street_address, "city": fake.city, "town": english.city,
            "company": fake.company, "rival": fake.company, "job": lambda: english.job().lower(),
            "card": fake.credit_card_number, "iban": fake.iban, "ip": fake.ipv4, "host": fake.hostname,
            "ssn": self._fakers[0].ssn, "plate": english.license_plate,
            "password": lambda: fake.password(length=draw.randint(6, 12)),
            "date": lambda: fake.date_object(LAST).strftime(draw.choice(DATES)),
            "time": lambda: fake.date_time(end_datetime=LAST).strftime(draw.choice(TIMES)).lstrip("0"),
        }  # fmt: skip
        if slot in faked:
            return faked[slot]()
        letters, digits = string.ascii_uppercase, string.digits
        drawn: dict[str, Callable[[], str]] = {
            "order": lambda: str(draw.randint(1_000, 9_999_999)),
            "code": lambda: "".join(draw.choices(letters + digits, k=draw.randint(5, 9))),
            "pin": lambda: "".join(draw.choices(digits, k=draw.choice([4, 6]))),
            "last4": lambda: "".join(draw.choices(digits, k=4)),
            "amount": self._amount,
            "year": lambda: str(draw.randint(1950, 2026)),
            "dose": lambda: str(draw.choice([5, 10, 20, 25, 50, 75, 100, 200, 250, 400, 500])),
            "illness": lambda: draw.choice(ILLNESSES),
            "drug": lambda: draw.choice(DRUGS),
            "weekday": lambda: draw.choice(WEEKDAYS),
            "flight": lambda: "".join(draw.choices(letters, k=2)) + str(draw.randint(10, 9999)),
            "small": lambda: str(draw.randint(2, 90)),
            "room": lambda: str(draw.randint(1, 900)),
            "port": lambda: str(
                draw.choice([22, 80, 443, 3306, 5432, 6379, 8080, draw.randint(1024, 65535)])
            ),
            "number": lambda: f"{draw.randint(10, 5_000_000):,}",
            "version": lambda: ".".join(str(draw.randint(0, 20)) for _ in range(draw.choice([2, 3]))),
        }
        return drawn[slot]()

    def _amount(self) -> str:
        value = self._draw.choice([self._draw.randint(2, 200), self._draw.randint(200, 90_000)])
        cents = self._draw.choice(["", "", f".{self._draw.randint(0, 99):02d}"])
        return self._draw.choice(["${}", "{} dollars", "{} euros", "£{}", "€{}"]).format(f"{value:,}{cents}")


def made(corpora: list[Path], seed: int, without_stop: float) -> Iterator[str]:
    """Lines without end: a share that only loses its full stop; of the rest half templates, half borrowed
    sentences that were changed."""
    details, draw = Details(seed), random.Random(seed + 1)
    lines = [line for corpus in corpora for line in _borrowed(corpus)]
    known = details.first_names()
    named = [line for line in lines if any(word.strip(".,!?'") in known for word in line.split()[1:])]
    numbered = [line for line in lines if DIGITS.search(line)]
    stopped = [line for line in lines if line[-1] in ".!?"]
    short = [line for line in stopped if len(line.split()) <= SHORT]

    def exchange_names(line: str) -> str:
        words = line.split(" ")
        chosen = {word.strip(".,!?'") for word in words[1:]} & known
        new = {name: details.value(draw.choice(["first", "first", "name"])) for name in sorted(chosen)}
        return " ".join(
            word.replace(w, new[w]) if (w := word.strip(".,!?'")) in new else word for word in words
        )

    def other_digits(found: re.Match[str]) -> str:
        return "".join(
            draw.choice("123456789" if place == 0 else string.digits) for place in range(len(found[0]))
        )

    makers: list[tuple[float, Callable[[], str]]] = [
        (0.51, lambda: details.fill(draw.choice(TEMPLATES))),
        (0.23, lambda: exchange_names(draw.choice(named))),
        (0.17, lambda: DIGITS.sub(other_digits, draw.choice(numbered))),
        (0.09, lambda: f"{draw.choice(short)} {draw.choice(short)}"),
    ]
    makers = [(weight * (1 - without_stop), maker) for weight, maker in makers]
    makers.append((without_stop, lambda: LAST_STOP.sub("", draw.choice(stopped))))
    weights = [weight for weight, _ in makers]
    while True:
        yield draw.choices(makers, weights)[0][1]()


def _borrowed(corpus: Path) -> list[str]:
    with gzip.open(corpus, "rt", encoding="utf-8") as file:
        return [line.strip() for line in islice(file, BORROWED) if line.strip()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpora", nargs="+", type=Path)
    parser.add_argument("--lines", type=int, default=60_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--without-stop", type=float, default=0.12, help="share that only loses its full stop"
    )
    args = parser.parse_args()
    seen: set[str] = set()
    for line in made(args.corpora, args.seed, args.without_stop):
        clean = " ".join(line.split())
        if clean not in seen:
            seen.add(clean)
            sys.stdout.write(clean + "\n")
        if len(seen) == args.lines:
            return


if __name__ == "__main__":
    main()
