import { describe, expect, test } from 'vitest';
import { DEFINITIONS } from '../../src/config/settings.ts';
import { modelNames, parseHostNames, parseOrigins } from '../../src/config/values.ts';

describe('an alias', () => {
  test.each([
    ['a/b', 'a/b'],
    ['a/b | c/d', 'a/b | c/d'],
    ['["a/b","c/d"]', 'a/b, c/d'],
    [' [ "a/b" ]', 'a/b'],
    ['"a/b"', 'a/b'],
    ['"42"', '42'],
    ['anthropic/claude-opus-4-6[1m], c/d', 'anthropic/claude-opus-4-6[1m], c/d'],
    [['a/b', 'c/d'], 'a/b, c/d'],
  ])('%j names %s', (value, names) => {
    expect(modelNames(value)).toBe(names);
  });

  test.each([
    '',
    ' ',
    '[]',
    '[""]',
    '[" "]',
    '["a/b", 1]',
    '["a/b"',
    '{"a":"b"}',
    '[["a/b"]]',
    '["a, b"]',
    '""',
    '" "',
    '42',
    'true',
    'null',
    'a/b]',
    '[a/b',
    'a/b"',
    ', |',
    '[',
    7,
    null,
  ])('%j is refused', (value) => {
    expect(() => modelNames(value)).toThrow('names no models');
  });
});

describe('a setting with a single text', () => {
  test.each([
    'host',
    'server.tls_cert',
    'server.tls_key',
    'tls.ca_file',
    'proxy.url',
    'prices.url',
    'metrics.otlp_endpoint',
    'timezone',
  ] as const)('%s refuses JSON and blanks', (key) => {
    for (const value of ['["a","b"]', '{"a":1}', '{"', '["a"', '[]', '"a"', ' ', '[', ['a'], { a: 1 }, 7])
      expect(() => DEFINITIONS[key].parse(value), String(value)).toThrow();
  });

  test('takes addresses in brackets', () => {
    expect(DEFINITIONS.host.parse('[::1]')).toBe('[::1]');
    expect(DEFINITIONS['proxy.url'].parse('http://[::1]:3128')).toBe('http://[::1]:3128');
  });
});

describe('a list of origins or hosts', () => {
  test('is words or JSON', () => {
    const origins = ['app://obsidian.md', 'http://localhost:3000', 'http://[::1]:8080'];
    for (const value of [origins, JSON.stringify(origins), origins.join(', ')])
      expect(parseOrigins(value)).toEqual({ origins, written: origins.join(',') });
    expect(parseHostNames('["a.example","b.example"]').names).toEqual(['a.example', 'b.example']);
    expect(parseOrigins('').origins).toEqual([]);
  });

  test.each([
    '*',
    'null',
    'http://*',
    'http://*.example.com',
    'http://a.example/',
    'http://a.example/path',
    'http://A.example',
    'https://a.example:443',
    'http://user@a.example',
    'a.example',
    '["http://a.example", 1]',
    '["http://a.example"',
    '{"a":1}',
  ])('refuses the origin %s', (value) => {
    expect(() => parseOrigins(value)).toThrow();
  });
});
