import { describe, expect, test } from 'vitest';
import { runOf } from '../../src/operations/local.ts';
import { describedBy, EARLIER_ROUTES, type Name, OPERATIONS, ROUTES } from '../../src/operations/registry.ts';
import { EARLIER } from '../../src/operations/schemas/earlier.ts';

const NAMES = Object.keys(OPERATIONS) as Name[];

describe('the registry', () => {
  test.each(NAMES)('has a function and a description of %s', async (name) => {
    expect(await runOf(name)).toBeTypeOf('function');
    expect(await describedBy(name)).toMatchObject({
      summary: expect.any(String),
      response: expect.anything(),
    });
  });

  test('has each route once', () => {
    expect(ROUTES.size).toBe(NAMES.length);
  });

  test('describes the earlier routes, here or with their operations', () => {
    const described = [...ROUTES.keys(), ...Object.keys(EARLIER)];
    expect(EARLIER_ROUTES.filter((route) => !described.includes(route))).toEqual([]);
  });

  test.each(NAMES)('has no field in the query or body of %s that its path has too', async (name) => {
    const { query, body } = await describedBy(name);
    const inPath = [...OPERATIONS[name][0].matchAll(/\{(\w+)\}/g)].map(([, field]) => field);
    const others = Object.keys({ ...query?.shape, ...body?.shape });
    expect(others.filter((field) => inPath.includes(field))).toEqual([]);
  });
});
