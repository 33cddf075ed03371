#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes the network of ../convnet.c, with its weights (convnet.f32), in ONNX's format (pip install onnx numpy):

    python3 make_onnx.py digits.onnx
"""
import os
import sys

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper, save

SHAPES = ((16, 1, 3, 3), (16,), (32, 16, 3, 3), (32,), (512, 10), (10,))

here = os.path.dirname(os.path.abspath(__file__))
numbers = np.fromfile(os.path.join(here, "convnet.f32"), "<f4")
sizes = [int(np.prod(s)) for s in SHAPES]
weights = [numpy_helper.from_array(part.reshape(s), "w%d" % i)
           for i, (part, s) in enumerate(zip(np.split(numbers, np.cumsum(sizes)[:-1]), SHAPES))]
around = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
nodes = [helper.make_node("Conv", ["images", "w0", "w1"], ["a"], **around),
         helper.make_node("Relu", ["a"], ["b"]),
         helper.make_node("Conv", ["b", "w2", "w3"], ["c"], **around),
         helper.make_node("Relu", ["c"], ["d"]),
         helper.make_node("MaxPool", ["d"], ["e"], kernel_shape=[2, 2], strides=[2, 2]),
         helper.make_node("Flatten", ["e"], ["f"]),
         helper.make_node("Gemm", ["f", "w4", "w5"], ["logits"])]
images = helper.make_tensor_value_info("images", TensorProto.FLOAT, ["batch", 1, 8, 8])
logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 10])
graph = helper.make_graph(nodes, "digits", [images], [logits], weights)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], producer_name="make_onnx.py")
model.ir_version = 7
checker.check_model(model)
save(model, sys.argv[1])
