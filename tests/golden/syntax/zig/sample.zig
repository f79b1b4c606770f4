//! A ring of samples that never allocates after it was made.

const std = @import("std");
const builtin = @import("builtin");
const Clock = @import("clock.zig").Clock;
const testing = std.testing;
pub const Codec = @import("codec.zig").Codec;
pub usingnamespace @import("compat.zig");

/// What can go wrong.
pub const RingError = error{ Empty, Full };

pub const max_samples: usize = 4096;
var live_rings: u32 = 0;
threadlocal var scratch: [64]u8 = undefined;

/// How samples are dropped.
pub const Policy = enum(u8) {
    oldest,
    newest = 2,
    _,

    pub fn parse(text: []const u8) ?Policy {
        return std.meta.stringToEnum(Policy, text);
    }
};

pub const Value = union(enum) {
    integer: i64,
    decimal: f64,
    missing,
};

const Packed = packed struct {
    flag: bool,
    rest: u7 = 0,
};

pub const Handle = opaque {};

/// A ring of `T`.
pub fn Ring(comptime T: type) type {
    return struct {
        const Self = @This();

        items: []T,
        head: usize = 0,
        clock: *const Clock,

        /// Makes an empty ring.
        pub fn init(
            allocator: std.mem.Allocator, // owned by the caller
            policy: Policy,
        ) !Self {
            live_rings += 1;
            return .{ .items = try allocator.alloc(T, max_samples), .clock = Clock.system(policy) };
        }

        pub fn push(self: *Self, item: T) RingError!void {
            if (self.isFull()) return RingError.Full;
            self.items[self.head] = item;
            advance(&self.head);
        }

        fn isFull(self: Self) bool {
            return self.head == self.items.len;
        }
    };
}

// Moves an index on, around the end.
fn advance(index: *usize) void {
    const step = struct {
        fn by(n: usize) usize {
            return n + 1;
        }
    };
    index.* = step.by(index.*) % max_samples;
}

pub extern "c" fn getpid() c_int;

export fn ring_count() u32 {
    return live_rings;
}

pub inline fn @"weird name"(value: Value) Value {
    return value;
}

test "a ring is empty at first" {
    const ring = try Ring(u8).init(testing.allocator, .oldest);
    try testing.expect(!ring.isFull());
    std.debug.print("{d}\n", .{ring.head});
}

test advance {
    var index: usize = 0;
    advance(&index);
}
