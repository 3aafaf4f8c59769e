"""Personal data in texts: what is there, what of it came back, and how to black it out."""

from unembed.personal.blackout import blackout
from unembed.personal.came_back import Extent, Recovered, recovered
from unembed.personal.entities import Entity, Kind
from unembed.personal.find_personal import find_personal

__all__ = ["Entity", "Extent", "Kind", "Recovered", "blackout", "find_personal", "recovered"]
