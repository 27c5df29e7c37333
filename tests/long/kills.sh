#!/bin/bash
# Sixty more kills than the usual test makes, of other processes at other moments. Prints TAP.
exec bash "$(dirname "$0")/../mpi/kills.sh" 60 2
