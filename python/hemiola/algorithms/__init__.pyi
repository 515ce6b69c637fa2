# SPDX-License-Identifier: Apache-2.0
"""Generated (make generate): what hemiola.algorithms exports, by the registry."""

from hemiola._core.algorithms import (
    Variant as Variant,
    all_gather_bruck as all_gather_bruck,
    all_gather_direct as all_gather_direct,
    all_gather_direct_rounds as all_gather_direct_rounds,
    all_gather_hierarchical as all_gather_hierarchical,
    all_gather_hierarchical_parts as all_gather_hierarchical_parts,
    all_gather_multi_ring as all_gather_multi_ring,
    all_gather_multitree as all_gather_multitree,
    all_gather_pccl as all_gather_pccl,
    all_gather_recursive_doubling as all_gather_recursive_doubling,
    all_gather_ring as all_gather_ring,
    all_gather_ring_two_way as all_gather_ring_two_way,
    all_gather_weighted_exchange as all_gather_weighted_exchange,
    all_reduce_blueconnect as all_reduce_blueconnect,
    all_reduce_bruck as all_reduce_bruck,
    all_reduce_c_cube as all_reduce_c_cube,
    all_reduce_direct as all_reduce_direct,
    all_reduce_direct_rounds as all_reduce_direct_rounds,
    all_reduce_double_binary_tree as all_reduce_double_binary_tree,
    all_reduce_hierarchical as all_reduce_hierarchical,
    all_reduce_hierarchical_parts as all_reduce_hierarchical_parts,
    all_reduce_late as all_reduce_late,
    all_reduce_late_broadcast as all_reduce_late_broadcast,
    all_reduce_late_hierarchical as all_reduce_late_hierarchical,
    all_reduce_late_segmented as all_reduce_late_segmented,
    all_reduce_late_several as all_reduce_late_several,
    all_reduce_mesh_trees as all_reduce_mesh_trees,
    all_reduce_multi_ring as all_reduce_multi_ring,
    all_reduce_multitree as all_reduce_multitree,
    all_reduce_optcc as all_reduce_optcc,
    all_reduce_pccl as all_reduce_pccl,
    all_reduce_rail_exchange as all_reduce_rail_exchange,
    all_reduce_recursive_doubling as all_reduce_recursive_doubling,
    all_reduce_recursive_halving_doubling as all_reduce_recursive_halving_doubling,
    all_reduce_recursive_multiplying as all_reduce_recursive_multiplying,
    all_reduce_recursive_multiplying_transfers as all_reduce_recursive_multiplying_transfers,
    all_reduce_ring as all_reduce_ring,
    all_reduce_ring_two_way as all_reduce_ring_two_way,
    all_reduce_stragglar as all_reduce_stragglar,
    all_reduce_swing as all_reduce_swing,
    all_reduce_themis as all_reduce_themis,
    all_reduce_weighted_exchange as all_reduce_weighted_exchange,
    all_reduce_weighted_exchange_parts as all_reduce_weighted_exchange_parts,
    all_to_all_bruck as all_to_all_bruck,
    all_to_all_direct as all_to_all_direct,
    all_to_all_pairwise as all_to_all_pairwise,
    best_optcc_segment_count as best_optcc_segment_count,
    best_segment_count as best_segment_count,
    broadcast_binomial as broadcast_binomial,
    broadcast_chain as broadcast_chain,
    broadcast_circulant as broadcast_circulant,
    broadcast_direct as broadcast_direct,
    broadcast_double_binary_tree as broadcast_double_binary_tree,
    broadcast_scatter_all_gather as broadcast_scatter_all_gather,
    broadcast_weighted_exchange as broadcast_weighted_exchange,
    gather_binomial as gather_binomial,
    gather_direct as gather_direct,
    reduce_binomial as reduce_binomial,
    reduce_chain as reduce_chain,
    reduce_circulant as reduce_circulant,
    reduce_direct as reduce_direct,
    reduce_double_binary_tree as reduce_double_binary_tree,
    reduce_scatter_bruck as reduce_scatter_bruck,
    reduce_scatter_direct as reduce_scatter_direct,
    reduce_scatter_direct_rounds as reduce_scatter_direct_rounds,
    reduce_scatter_hierarchical as reduce_scatter_hierarchical,
    reduce_scatter_hierarchical_parts as reduce_scatter_hierarchical_parts,
    reduce_scatter_multi_ring as reduce_scatter_multi_ring,
    reduce_scatter_multitree as reduce_scatter_multitree,
    reduce_scatter_pccl as reduce_scatter_pccl,
    reduce_scatter_recursive_halving as reduce_scatter_recursive_halving,
    reduce_scatter_ring as reduce_scatter_ring,
    reduce_scatter_ring_two_way as reduce_scatter_ring_two_way,
    reduce_scatter_weighted_exchange as reduce_scatter_weighted_exchange,
    scatter_binomial as scatter_binomial,
    scatter_direct as scatter_direct,
)
from hemiola.algorithms.algorithm import (
    Algorithm as Algorithm,
    Paper as Paper,
)
from hemiola.algorithms.in_switch import (
    InSwitch as InSwitch,
    all_gather_in_switch as all_gather_in_switch,
    all_reduce_in_switch as all_reduce_in_switch,
    broadcast_in_switch as broadcast_in_switch,
    reduce_scatter_in_switch as reduce_scatter_in_switch,
)
from hemiola.algorithms.late_relayed import (
    all_reduce_late_relayed as all_reduce_late_relayed,
)
from hemiola.algorithms.registry import (
    candidates as candidates,
    get as get,
    names as names,
    register as register,
)
from hemiola.algorithms.slow_exchanges import (
    all_reduce_open_shop_exchange as all_reduce_open_shop_exchange,
    all_reduce_paced_exchange as all_reduce_paced_exchange,
    all_reduce_rail_open_shop_exchange as all_reduce_rail_open_shop_exchange,
)
from hemiola.algorithms.slow_grid import (
    all_reduce_grid_trees as all_reduce_grid_trees,
)
from hemiola.algorithms.slow_nics import (
    all_reduce_pooled_exchange as all_reduce_pooled_exchange,
)
from hemiola.algorithms.slow_rails import (
    all_reduce_uneven_rails as all_reduce_uneven_rails,
)
from hemiola.algorithms.slow_relayed import (
    all_reduce_relayed_exchange as all_reduce_relayed_exchange,
)
from hemiola.algorithms.stragglar_matching import (
    all_reduce_stragglar_matching as all_reduce_stragglar_matching,
)
from hemiola.algorithms.task import (
    Candidate as Candidate,
    Task as Task,
)
