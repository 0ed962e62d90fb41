"""From a step function to the best sequences. Nothing here knows a model class.

Shapes as in `heed.model`; W is the number of hypotheses of a sentence.
"""
