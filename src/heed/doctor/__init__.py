"""A parallel corpus examined before training: what is wrong with it, where, and a cleaned copy.

`examine` finds (`examination.py` puts it together, with a file beside it for each idea), `fix` writes the copy.
No text is kept in memory: a pair leaves behind some sixty bytes of lengths and hashes.
"""

from heed.doctor.examination import Examination, Example, Finding, examine
from heed.doctor.fixing import Fixed, fix, refuse_folder
from heed.doctor.kinds import KINDS

__all__ = ["KINDS", "Examination", "Example", "Finding", "Fixed", "examine", "fix", "refuse_folder"]
