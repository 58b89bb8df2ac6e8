import { expect, test } from 'vitest';
import { sampleOf } from '../../../src/providers/sandbox/reply.ts';

test('sampleOf() makes the required properties and no others', () => {
  const schema = {
    type: 'object',
    properties: {
      city: { type: 'string' },
      unit: { enum: ['celsius', 'fahrenheit'] },
      days: { type: 'integer', minimum: 3 },
      exact: { type: 'boolean' },
      tags: { type: 'array', items: { type: 'string', default: 'sun' } },
      kind: { const: 'weather' },
      note: { type: ['null', 'string'] },
      optional: { type: 'string' },
    },
    required: ['city', 'unit', 'days', 'exact', 'tags', 'kind', 'note'],
  };
  expect(sampleOf(schema)).toEqual({
    city: 'example',
    unit: 'celsius',
    days: 3,
    exact: true,
    tags: ['sun'],
    kind: 'weather',
    note: null,
  });
});

test('sampleOf() follows references and takes the first alternative', () => {
  const place = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
  const schema = {
    $defs: { place },
    type: 'object',
    properties: { to: { anyOf: [{ $ref: '#/$defs/place' }, { type: 'null' }] } },
    required: ['to'],
  };
  expect(sampleOf(schema)).toEqual({ to: { name: 'example' } });
});

test('sampleOf() comes to an end with schemas that refer to themselves', () => {
  const schema = { type: 'object', properties: { a: { $ref: '#' }, b: { $ref: '#' } }, required: ['a', 'b'] };
  expect(JSON.stringify(sampleOf(schema)).length).toBeLessThan(5_000);
});

test.each([[{}], [null], [7], [{ type: 'odd' }], [{ type: 'object', required: 'x' }], [{ $ref: '#/none' }]])(
  'sampleOf(%j) is JSON all the same',
  (schema) => {
    expect(JSON.stringify(sampleOf(schema))).toBeTypeOf('string');
  },
);
