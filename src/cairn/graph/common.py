"""Names that every program calls on values of its language: to be the only one in a codebase proves nothing then."""

from __future__ import annotations

_PYTHON = """
absolute acquire add all any append as_integer_ratio as_posix as_uri cancel capitalize center chmod clear close copy
count debug decode discard done encode endswith error exception exists expanduser extend fileno find flush format
format_map fromkeys get getvalue glob group groupdict groups hex index info insert intersection is_absolute is_dir
is_file is_symlink isalnum isalpha isatty isdigit isdisjoint islower isnumeric isspace issubset issuperset istitle
isupper items iterdir join joinpath keys ljust log lower lstat lstrip match mkdir name open partition pop popitem put
read read_bytes read_text readable readinto readline readlines readlink relative_to release remove removeprefix
removesuffix rename replace resolve result reverse rfind rglob rindex rjust rmdir rpartition rsplit rstrip run samefile
search seek seekable send set setdefault sort span split splitlines start startswith stat stop strip sub sum swapcase
symlink_to tell title to_bytes touch translate truncate union unlink update upper values wait warning with_name
with_stem with_suffix writable write write_bytes write_text writelines zfill
"""
_SCRIPT = """
abort add addEventListener all append appendChild apply assign at bind blur call cancel catch charAt charCodeAt clear
click close concat create defineProperty delete destroy dispatchEvent emit end endsWith enqueue entries error every
exec expect fill filter finally find findIndex flat flatMap focus forEach freeze from get getAttribute getElementById
getReader has hasOwnProperty includes indexOf info isArray join json keys lastIndexOf listen load log map match
matchAll next now of off on once padEnd padStart parse pause pipe pop post preventDefault push querySelector race read
reduce reduceRight reject remove removeEventListener render repeat replace replaceAll reset resolve resume return
reverse search send set setAttribute setHeader shift slice some sort splice split start startsWith stop
stopPropagation stringify substr substring test text then throw toBe toEqual toFixed toISOString toJSON toLowerCase
toString toUpperCase trim trimEnd trimStart unshift update use valueOf values warn write
"""
_GO = """
Accept Add Addr After As Before Broadcast Buffer Bytes Call Cap Cleanup Clone Close CompareAndSwap Context Cookie
Cookies Deadline Decode Delete Do Done Elem Encode Equal Err Error Errorf Fail FailNow Fatal Fatalf Field Flush
FormFile FormValue Format Get Grow Handle HandleFunc Header Helper Hijack Index Info Int Interface Is IsDir IsNil
IsValid IsZero Key Kill Kind Len Less Listen ListenAndServe Load LoadOrStore LocalAddr Lock Log Logf MarshalJSON
MarshalText MatchString Method ModTime Mode Name Next NumField Output Panic Parse ParseForm Path Peek Pop Port Print
Printf Println Push Query RLock RUnlock Range Read ReadAll ReadAt ReadByte ReadFrom ReadRune ReadString RemoteAddr
Reset Round RoundTrip Run Scan Seek ServeHTTP Set SetDeadline Shutdown Signal Size Skip Skipf Split Start Stat Stop
Store String Sub Swap Sync Sys TempDir Text Truncate Type UTC Unix Unlock UnmarshalJSON UnmarshalText Unwrap Value
Wait Warn With WithContext Write WriteAt WriteByte WriteHeader WriteRune WriteString WriteTo
"""
_RUST = """
as_bytes as_mut as_ref as_str borrow chars clone cloned cmp collect contains default deref drop eq err expect extend
filter first flat_map fmt fold for_each from get hash insert into into_iter is_empty is_none is_some iter iter_mut
join keys last len lock map map_err max min name new next ok ok_or or_else parse pop push read remove send set skip
split take to_owned to_string trim try_from try_into unwrap unwrap_or unwrap_or_else values with write zip
"""
_JVM = """
accept add addAll also append apply asList build charAt clear close collect compareTo contains containsKey copy equals
execute filter find first flatMap fold forEach format get getClass getMessage getName hashCode invoke isEmpty iterator
join joinToString keySet last length let map name next of parse print println put read remove replace run set size
sort split start startsWith stop stream submit substring toString trim use value valueOf values write zip
"""
_C = """
append at back begin c_str clear data empty end erase find front get insert length pop push push_back reset size str
"""
_CSHARP = """
Add AddRange Any All Append Clear Close Contains ContainsKey Count Dispose Equals First FirstOrDefault Get GetHashCode
GetType Insert Invoke Join Last Next Open Parse Push Pop Read Remove Replace Run Select Send Set Single Sort Split Start
Stop Substring ToArray ToList ToString Trim TryGetValue Update Wait Where Write WriteLine
"""
_RUBY = """
add all any? append call clear close collect count delete each each_with_index empty? find first flatten format freeze
get gsub include? index inject insert is_a? join keys last length map match max merge min name new next nil? open
parse pop push puts read reduce reject replace respond_to? reverse run save select send set shift size sort sort_by
split start stop strip sub sum to_a to_h to_i to_s to_sym update upcase uniq values write zip
"""
_PHP = """
add all append call close count create current each execute exists filter find first format get getMessage getName has
insert isEmpty key keys last load map next open parse push read remove reset run save send set size start stop toArray
update valid values write
"""
_SWIFT = """
add append cancel close compactMap contains copy count dropFirst enumerated filter first firstIndex flatMap forEach
get hash index insert isEmpty joined last load lowercased map max min next open popLast prefix print read reduce
remove removeAll removeFirst removeLast replace reset resume run send set sort sorted split start stop suffix update
uppercased write
"""

COMMON: dict[str, frozenset[str]] = {
    "python": frozenset(_PYTHON.split()),
    "ecmascript": frozenset(_SCRIPT.split()),
    "go": frozenset(_GO.split()),
    "rust": frozenset(_RUST.split()),
    "jvm": frozenset(_JVM.split()),
    "c": frozenset(_C.split()),
    "csharp": frozenset(_CSHARP.split()),
    "ruby": frozenset(_RUBY.split()),
    "php": frozenset(_PHP.split()),
    "swift": frozenset(_SWIFT.split()),
}
