"""English words that say nothing about whom or what a text is about: shown in examples, never counted as
found.
"""

from __future__ import annotations

_WORDS = """
a about above after again against all almost along already also although always am among an and
another any anybody anyone anything are around as ask at away back be became because become been
before began behind being below between both but by came can cannot come could did do does doing
done down during each either else enough even ever every everyone everything few find first for from
full gave get gets getting give given go goes going gone got had has have having he her here hers
herself him himself his how however i if in into is it its itself just keep kept know last later
least less let like little long made make makes making many may maybe me might mine more most much
must my myself need needs never new next no nobody none nor not nothing now of off often oh ok okay
old on once one only onto or other others our ours out over own part per perhaps please put quite
rather really right said same saw say says see seem seems seen set several shall she should show
since so some somebody someone something soon still such sure take taken tell than thank thanks that
the their theirs them themselves then there these they thing things think this those though through
thus till to together too took toward towards tried try two under until up upon us use used using
very want wants was way we well went were what whatever when where whether which while who whole
whom whose why will with within without would yes yet you your yours yourself ve ll re don didn
doesn isn wasn couldn wouldn shouldn haven hasn aren
"""
COMMON = frozenset(_WORDS.split())
