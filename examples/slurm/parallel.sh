#!/bin/sh
# The same with GNU parallel on one or several hosts: four shards, two at a time.
exec parallel -j2 recount sweep matmul --n 8:64:8 --witness model:i7-9700 --metric PAPI_L1_DCM --shard '{}/4' -j1 -q \
  -o "'parallel-{task}.jsonl'" ::: 1 2 3 4
