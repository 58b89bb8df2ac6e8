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
])('the header x-service-route: %s is %s', (text, route) => {
  expect(withServiceHeaders({}, { 'x-service-route': text })).toEqual({ route });
});

test.each([
  ['on', true],
  ['0', false],
  ['off', 'off'],
  ['Balanced', 'balanced'],
])('the header x-service-optimize: %s is %s', (text, optimize) => {
  expect(withServiceHeaders({}, { 'x-service-optimize': text })).toEqual({ optimize });
});

test("the body's fields win over the headers, one by one", () => {
  const headers = { 'x-service-route': 'off', 'x-service-budget': 'web' };
  expect(withServiceHeaders({ route: true }, headers)).toEqual({ route: true, budgetId: 'web' });
});
