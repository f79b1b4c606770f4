; Definitions. Everything is a call; its first word says what it defines.
(call target: (identifier) @_def (arguments . (alias) @name) (do_block) @value (#eq? @_def "defmodule")) @def.module
(call target: (identifier) @_def (arguments . (alias) @name) (do_block) @value (#eq? @_def "defprotocol")) @def.interface
(call target: (identifier) @_def (arguments . (alias) (keywords . (pair key: (keyword) @_for value: (_) @name))) (do_block) @value (#eq? @_def "defimpl") (#match? @_for "^for:")) @def.impl
(call target: (identifier) @_def (arguments . (alias) @name .) (do_block) @value (#eq? @_def "defimpl")) @def.impl
(call target: (identifier) @_def
  (arguments . [
    (call target: (identifier) @name (arguments) @clause)
    (identifier) @name @clause
    (binary_operator left: [(call target: (identifier) @name (arguments) @clause) (identifier) @name @clause] operator: "when")
  ] . (keywords)? @value)
  (do_block)? @value (#any-of? @_def "def" "defp" "defdelegate" "defn" "defnp")) @def.function
(call target: (identifier) @_def
  (arguments . [
    (call target: (identifier) @name (arguments) @clause)
    (identifier) @name @clause
    (binary_operator left: (call target: (identifier) @name (arguments) @clause) operator: "when")
  ] . (keywords)? @value)
  (do_block)? @value (#any-of? @_def "defmacro" "defmacrop" "defguard" "defguardp")) @def.macro
(call target: (identifier) @_def (arguments . (binary_operator left: (identifier) operator: _ @name right: (identifier)) . (keywords)? @value) (do_block)? @value (#any-of? @_def "def" "defp")) @def.function
(call target: (identifier) @_def (arguments (list [(atom) @name @def.field (keywords (pair key: (keyword) @name) @def.field)])) (#any-of? @_def "defstruct" "defexception"))
(call target: (identifier) @_def (arguments (keywords (pair key: (keyword) @name) @def.field)) (#any-of? @_def "defstruct" "defexception"))
(unary_operator operator: "@" operand: (call target: (identifier) @_kind (arguments (binary_operator left: [(identifier) @name (call target: (identifier) @name)] operator: "::"))) (#any-of? @_kind "type" "typep" "opaque")) @def.type
(unary_operator operator: "@" operand: (call target: (identifier) @_kind (arguments (binary_operator left: (call target: (identifier) @name) operator: "::"))) (#any-of? @_kind "callback" "macrocallback")) @def.function
(unary_operator operator: "@" operand: (call target: (identifier) @name (arguments) @value)
  (#not-match? @name "^(doc|moduledoc|typedoc|spec|type|typep|opaque|callback|macrocallback|impl|behaviour|deprecated|derive|enforce_keys|dialyzer|compile|optional_callbacks|before_compile|after_compile|on_load|external_resource|tag|moduletag|describetag|since)$")) @def.constant

; Docs: an attribute above a function, or in a module.
(unary_operator operator: "@" operand: (call target: (identifier) @_kind (arguments [(string) (sigil)])) (#any-of? @_kind "doc" "typedoc")) @comment
(unary_operator operator: "@" operand: (call target: (identifier) @_kind (arguments [(string) (sigil)] @doc)) (#eq? @_kind "moduledoc"))
(unary_operator operator: "@" operand: (call target: (identifier) @_kind (arguments [(binary_operator) (boolean) (keywords)])) (#any-of? @_kind "spec" "impl" "doc" "deprecated")) @attached
(comment) @comment

; Uses. The words of attributes and definitions are calls to the grammar only.
(unary_operator operator: "@" operand: (call target: (identifier) @_kind (arguments (alias) @ref.base)) (#eq? @_kind "behaviour"))
(unary_operator operator: "@" operand: (call target: (identifier) @_kind (arguments (binary_operator left: (call target: (identifier) @ref.none) operator: "::"))) (#eq? @_kind "spec"))
(unary_operator operator: "@" operand: (call target: (identifier) @ref.annotation) (#any-of? @ref.annotation "impl" "derive" "deprecated" "enforce_keys"))
(unary_operator operator: "@" operand: (call target: (identifier) @ref.none))
(call target: (identifier) @_def (arguments . (alias) @ref.base) (#eq? @_def "defimpl"))
(call target: (dot left: (_) @receiver right: (identifier) @ref.call) (arguments))
(call target: (identifier) @ref.none (#any-of? @ref.none "def" "defp" "defmodule" "defmacro" "defmacrop" "defstruct" "defprotocol" "defimpl" "defguard" "defguardp" "defdelegate" "defexception" "defn" "defnp"))
(call target: (identifier) @ref.call)
(binary_operator operator: "|>" right: (identifier) @ref.call)
(unary_operator operator: "&" operand: (binary_operator left: (identifier) @ref.call operator: "/"))
(unary_operator operator: "&" operand: (binary_operator left: (call target: (dot left: (_) @receiver right: (identifier) @ref.call)) operator: "/"))
(struct (alias) @ref.type)

; Imports.
(call target: (identifier) @_how (arguments . [(alias) (dot) (atom) (identifier)]) (#any-of? @_how "alias" "import" "require" "use")) @import.elixir
