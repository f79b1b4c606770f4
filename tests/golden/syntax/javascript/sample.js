#!/usr/bin/env node
// A small event bus with middlewares, for the browser and for node.

import fs, { readFile as read, writeFile } from 'node:fs';
import * as path from 'node:path';
import './polyfills.js';
import defaults from './defaults.json' with { type: 'json' };

export * from './types.js';
export * as errors from './errors.js';
export { Queue as default, drain } from './queue.js';

const os = require('node:os');
const { inspect, format: fmt } = require('node:util');
const once = require('./once').once;
require('./register');

/** How many listeners one topic may have. */
export const MAX_LISTENERS = 64;
const [first, second] = [1, 2], separator = '/';
let { depth, limit: cap } = defaults;
var legacy;

export const Level = Object.freeze({ QUIET: 0, LOUD: 1 });
export const codes = { OK: 200, notFound: 404 };

/**
 * A bus carries messages from those who publish to those who listen.
 */
@sealed
export class Bus extends events.Emitter {
  static instances = 0;
  #topics = new Map();
  onError = (error) => console.error(error);

  /** Starts empty. */
  constructor(name, { strict = true } = {}) {
    super(name);
    this.name = name;
    this.strict = strict;
    Bus.instances += 1;
  }

  get size() {
    return this.#topics.size;
  }

  set size(value) {
    throw new errors.ReadOnly(`size ${value}`);
  }

  // Listeners run in the order in which they came.
  @logged('debug')
  async publish(topic, /* anything */ payload, ...rest) {
    for (const listener of this.#listeners(topic)) await listener?.handle(payload, ...rest);
  }

  #listeners(topic) {
    return this.#topics.get(topic) ?? [];
  }

  static of(...names) {
    return names.map((name) => new Bus(name));
  }

  *[Symbol.iterator]() {
    yield* this.#topics;
  }
}

export async function* replay(file) {
  const text = await read(path.join(os.tmpdir(), file), 'utf8');
  function parse(line) {
    return JSON.parse(line);
  }
  const rows = text.split('\n');
  yield* rows.map(parse);
}

const compose = (...steps) =>
  steps.reduce((inner, step) => step(inner));

export const debounce = function (work, wait = 50) {
  let timer;
  return function debounced(...args) {
    clearTimeout(timer);
    timer = setTimeout(() => work(...args), wait);
  };
};

const handlers = {
  open(socket) { return socket.accept(); },
  close: function (socket) { socket.end(); },
  retry: async (socket) => handlers.open(socket),
  timeout: 30,
};

function Legacy() {
  this.poll = function () { return legacy; };
}
Legacy.prototype.send = function (message) {
  return fmt(message);
};
Legacy.create = () => new Legacy();
Legacy.wire.open = function (port) {
  return connect(port);
};

export function Größe({ bus }) {
  return <Panel title="size"><span>{bus.size}</span><Icons.Bell count={inspect(bus)} /></Panel>;
}

class Hidden {}

export { compose as pipe, Hidden };
export default function main() {
  import('./cli.js').then((cli) => cli.run(once(compose)));
}

module.exports = { compose, open: handlers.open, version() { return '1'; } };
module.exports.Legacy = Legacy;
exports.now = function () { return Date.now(); };
exports.LIMIT = 12;
