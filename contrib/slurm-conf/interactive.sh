#!/bin/bash
# An allocation of two nodes with a shell in it. There, every step is a job of its own:
#   srun --distinit=tp8,dp python3 train.py
#   DISTINIT_LOG=info srun --ntasks-per-node=2 -n4 --distinit=tp2,dp python3 small.py
# SLURM_DISTINIT holds what you would otherwise type each time; --distinit still asks for it.
export SLURM_DISTINIT=timeout=60
exec salloc --nodes=2 --ntasks-per-node=8 --gpus-per-node=8 "$@"
