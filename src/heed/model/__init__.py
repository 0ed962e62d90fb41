"""The model of section 3 of the paper. Names of tensors end with their shape:

B batch · S source length · T target length · L query length · M length attended to ·
D d_model · F d_ff · H heads · K d_k · C d_v · V vocabulary · W beam width · R rows = B x W · 1 broadcast.
Of restricted attention: U blocks of a sentence · G blocks of all sentences · Q queries of a block.
"""
