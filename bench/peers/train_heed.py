"""Train with heed as `heed train` does; with "bfloat16" as second argument, in bfloat16."""

import sys
from dataclasses import replace

import torch
from batches import read_batches
from turns import UpdateTurns, read_job

from heed.allocator import keep_freed_memory
from heed.data.batch import Batch
from heed.settings import config_from_dict
from heed.training.learner import Learner
from heed.training.step import train_step
from heed.training.workers import Workers
from heed.vocabulary import Vocabulary

job = read_job()
turns = UpdateTurns(job["updates"])
keep_freed_memory()
torch.manual_seed(1)
vocabulary = Vocabulary(job["vocabulary_size"])
config = config_from_dict(job["config"], "job")
if "bfloat16" in sys.argv[2:]:
    config = replace(config, train=replace(config.train, precision="bfloat16"))
learner = Learner(config, vocabulary, Workers(0, 1, torch.device("cpu")))
learner.model.train()
batches = [
    Batch(*tensors, int(tensors[2].ne(vocabulary.pad).sum()), torch.arange(len(tensors[0])), vocabulary.pad)
    for tensors in read_batches(job)
]
step = 0
while True:
    for batch in batches:
        turns.before_update(batch.n_tokens)
        step += 1
        n_portions = -(-max(batch.src_BS.numel(), batch.tgt_out_BT.numel()) // learner.config.train.micro_batch_tokens)
        train_step(learner, batch.shares(n_portions), batch.n_tokens, step)
