; The keys of the outer two levels: enough to find a setting, few enough to stay small.
(document (block_node (block_mapping (block_mapping_pair key: (flow_node) @name) @def.key)))
(document (block_node (block_mapping (block_mapping_pair value: (block_node (block_mapping (block_mapping_pair key: (flow_node) @name) @def.key))))))
(document (block_node (block_mapping (block_mapping_pair value: (flow_node (flow_mapping (flow_pair key: (flow_node) @name) @def.key))))))
(document (flow_node (flow_mapping (flow_pair key: (flow_node) @name) @def.key)))

(comment) @comment
