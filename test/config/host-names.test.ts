import { expect, test } from 'vitest';
import { parseHostNames } from '../../src/config/values.ts';

test.each([
  ['gw.example.com', ['gw.example.com']],
  ['GW.example.com, gw', ['gw.example.com', 'gw']],
  [
    ['a.example.com', '10.0.0.5'],
    ['a.example.com', '10.0.0.5'],
  ],
  ['', []],
])('parseHostNames() reads %j', (value, names) => {
  expect(parseHostNames(value)).toEqual({ names, written: names.join(',') });
});

test.each([
  '*.example.com',
  '*',
  'https://gw.example.com',
  'gw.example.com:443',
  'gw.',
  '-',
  'a/b',
  '[::1]',
  7,
  ['a', 7],
])('parseHostNames() refuses %j', (value) => {
  expect(() => parseHostNames(value)).toThrow(/is not a (host name; an example is|list of host names)/);
});
