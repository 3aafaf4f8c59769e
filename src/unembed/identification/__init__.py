"""Which encoder made these vectors? What the numbers say, what the texts say, and how sure that is."""

from unembed.identification.identify_encoder import identify
from unembed.identification.verdict import Candidate, Evidence, Identification, Verdict

__all__ = ["Candidate", "Evidence", "Identification", "Verdict", "identify"]
