/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* sx_insn.aux of the operations in op_round.c. */
#ifndef SOFTCUDA_EXEC_OP_ROUND_H
#define SOFTCUDA_EXEC_OP_ROUND_H

#define SX_ROUND_MASK 7  /* sx_round */
#define SX_ROUND_FLUSH 8 /* .ftz */

#endif
