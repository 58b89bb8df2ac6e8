import { isObject } from '../../src/json/object.ts';

/** Values that fail where they are taken for a text or a number, and an index that no list can be filled up to. */
export const ODD: readonly unknown[] = [
  { toString: 1 },
  { toString: 1, valueOf: 1, toJSON: 1 },
  [[{ toString: 1 }]],
  null,
  1.5,
  4_294_967_294,
  '',
  [],
  true,
];

/** A value with one of those in it replaced by `odd`, for each in turn, itself included. */
export function* replaced(value: unknown, odd: unknown): Generator<unknown> {
  yield odd;
  if (Array.isArray(value))
    for (const [i, each] of value.entries())
      for (const other of replaced(each, odd)) yield value.with(i, other);
  else if (isObject(value))
    for (const [key, each] of Object.entries(value))
      for (const other of replaced(each, odd)) yield { ...value, [key]: other };
}
