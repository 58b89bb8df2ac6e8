import { expect, test } from 'vitest';
import { withServiceHeaders } from '../../../src/wire/request/service-options.ts';

test.each([
  ['true', true],
  ['1', true],
  ['on', true],
  [' TRUE ', true],
  ['false', false],
  ['0', false],
  ['off', false],
  ['Off', false],
])('x-service-route: %s means %s', (text, route) => {
  expect(withServiceHeaders({}, { 'x-service-route': text })).toEqual({ route });
});

test.each([
  ['on', true],
  ['0', false],
  ['off', 'off'],
  ['Balanced', 'balanced'],
])('x-service-optimize: %s means %s', (text, optimize) => {
  expect(withServiceHeaders({}, { 'x-service-optimize': text })).toEqual({ optimize });
});

test("the body's options take precedence over the headers, field by field", () => {
  const headers = { 'x-service-route': 'off', 'x-service-budget': 'web' };
  expect(withServiceHeaders({ route: true }, headers)).toEqual({ route: true, budgetId: 'web' });
});
