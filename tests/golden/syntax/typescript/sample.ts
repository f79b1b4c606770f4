/** Stock keeping for a warehouse. */

import type { Clock } from './clock';
import Decimal, { type Rounding, round as roundTo } from 'decimal';
import * as events from './events';
import fs = require('node:fs');
import { Injectable, Inject } from '@shelf/inject';
import 'reflect-metadata';

export type { Clock } from './clock';
export { roundTo as rounded };

/** A place in the hall. */
export type Place = { aisle: number; shelf?: string; occupied(at: Clock): boolean };
type Handler<T> = (event: T, ...rest: unknown[]) => Promise<void> | void;

declare const BUILD: string;
declare function gc(full?: boolean): void;
declare module 'legacy-scanner' {
  export function scan(code: string): events.Barcode;
}
declare global {
  interface Window { scanner: Scanner }
}

export enum State {
  Empty,
  /** Half a pallet or less. */
  Low = 1 << 0,
  'Out of order' = 99,
}

export interface Shelf<T extends Item = Item> extends Iterable<T>, events.Source {
  readonly place: Place;
  capacity?: number;
  [key: string]: unknown;
  new (place: Place): Shelf<T>;
  put(item: T, count?: number): void;
  get free(): number;
}

interface Scanner {
  beep: () => void;
}

/**
 * What every stored thing has in common.
 */
@Injectable({ scope: 'hall' })
export abstract class Item implements events.Source, Comparable<Item> {
  static readonly #registry = new Map<string, Item>();
  protected readonly weight: Decimal = Decimal.zero();
  private notes?: string[];
  declare tag: symbol;

  constructor(public readonly id: string, private clock: Clock, count = 1) {
    Item.#registry.set(id, this);
  }

  abstract label(): string;
  abstract get price(): Decimal;

  // One price for one, another for many.
  total(count: number): Decimal;
  total(count: number, /* in percent */ discount: number): Decimal;
  @events.traced('total')
  total(
    count: number, // how many
    discount = 0,
  ): Decimal {
    return this.price.times(count).minus(<Decimal>this.rebate(discount)!);
  }

  get heavy(): boolean { return this.weight.gt(25); }
  set heavy(value: boolean) { throw new TypeError(`${value}`); }

  private rebate = (percent: number): Decimal => roundTo(this.price.times(percent / 100), 2);

  compareTo(@Inject('other') other: Item): number {
    return this.id.localeCompare(other.id);
  }
}

export namespace Units.Metric {
  export const GRAM = 1, KILO = 1000;
  export function grams(value: number): number { return value * GRAM; }
}

export function pick(item: Item): Place;
export function pick(item: Item, near: Place): Place;
export function pick(item: Item, near?: Place): Place {
  const distance = (other: Place) => Math.abs(other.aisle - (near?.aisle ?? 0));
  return places().sort((a, b) => distance(a) - distance(b))[0] as Place;
}

export const places = async function* <T>(source: Shelf[] = []): AsyncGenerator<Place, void, T> {
  for (const shelf of source) yield shelf.place;
};

const cache: WeakMap<Item, Handler<events.Moved>> = new WeakMap(), ünïcode = 1;
let current: typeof cache | undefined;

class Pallet extends Item {
  label() { return `pallet ${super.total(1)}`; }
  get price() { return new Decimal.Exact(1); }
}

export default class extends Pallet {}
