import { expect, test } from 'vitest';
import { plainSchema, withSchemas } from '../../src/translation/repair/schemas.ts';

type Context = Parameters<typeof withSchemas>[1];

const parametersOf = (parameters: unknown) =>
  withSchemas([{ name: 'T', parameters } as Parameters<typeof withSchemas>[0][number]], {
    dialect: {},
  } as unknown as Context)[0]?.parameters;

test.each([
  ['none', undefined, { type: 'object', properties: {} }],
  ['an object', { type: 'object', properties: { a: {} } }, { type: 'object', properties: { a: {} } }],
  ['an object without properties', { type: 'object' }, { type: 'object', properties: {} }],
  ['properties without a type', { properties: { a: {} } }, { type: 'object', properties: { a: {} } }],
  ['another type', { type: 'string', properties: { a: {} } }, { type: 'object', properties: {} }],
])('a tool whose parameters are %s takes an object with properties', (_what, schema, written) => {
  expect(parametersOf(schema)).toEqual(written);
});

test('a type that may be null is nullable, and one that may not is not', () => {
  expect(plainSchema({ type: ['string', 'null'] })).toMatchObject({ type: 'string', nullable: true });
  expect(plainSchema({ type: ['string'] })).not.toHaveProperty('nullable');
});
