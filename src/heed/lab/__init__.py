"""The page of `heed inspect`, live: `heed lab` looks into models, switches parts of them off and watches them train."""
