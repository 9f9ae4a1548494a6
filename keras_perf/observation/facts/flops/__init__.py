"""The multiplications of a training step, counted from the graph that TensorFlow has traced.

TensorFlow offers nothing that does: `tf.compat.v1.profiler.profile` looks into no function that is
called, and finds 0 in a train function; `experimental_get_compiler_ir` gives XLA's program, of
functions that XLA compiles only, and no analysis of its cost.
"""
