import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { remoteGateway } from '../../src/remote/target.ts';
import { tmpHome } from '../support/tmp-home.ts';

/** The remote gw of an environment, with or without a login. */
function target(env: Record<string, string>, login?: { url: string; key: string }) {
  const file = join(tmpHome(), 'login.json');
  if (login) writeFileSync(file, JSON.stringify(login));
  return remoteGateway({ env, paths: { login: file } });
}

const LOGIN = { url: 'https://gw.example.com', key: 'sk-gw-login' };

describe('remoteGateway()', () => {
  test('is null without GW_URL and login', () => {
    expect(target({})).toBeNull();
    expect(target({ GW_KEY: 'sk-gw-a' })).toBeNull();
  });

  test('takes the environment, then the login', () => {
    expect(target({}, LOGIN)).toEqual({ ...LOGIN, from: 'login' });
    expect(target({ GW_URL: 'http://10.0.0.5:4747', GW_KEY: 'sk-gw-a' }, LOGIN)).toEqual({
      url: 'http://10.0.0.5:4747',
      key: 'sk-gw-a',
      from: 'environment',
    });
  });

  test('uses the key of the login only for its own URL', () => {
    expect(target({ GW_URL: 'https://gw.example.com/v1' }, LOGIN)?.key).toBe('sk-gw-login');
    expect(() => target({ GW_URL: 'https://other.example.com' }, LOGIN)).toThrow(
      'there is no key for https://other.example.com: export GW_KEY=KEY, or: gw login https://other.example.com',
    );
  });

  test('lets an empty GW_URL mean this machine, even after a login', () => {
    expect(target({ GW_URL: '' }, LOGIN)).toBeNull();
  });

  test.each([
    ['https://gw.example.com/', 'https://gw.example.com'],
    ['https://gw.example.com/v1/', 'https://gw.example.com'],
    ['https://example.com/gw/v1', 'https://example.com/gw'],
    ['HTTP://Gw.Example.com:80', 'http://gw.example.com'],
    ['http://[::1]:4747', 'http://[::1]:4747'],
  ])('reads %s', (text, url) => {
    expect(target({ GW_URL: text, GW_KEY: 'sk-gw-a' })?.url).toBe(url);
  });

  test.each(['gw.example.com', 'localhost:4747', 'ftp://gw.example.com', 'https://', ' '])(
    'refuses "%s"',
    (text) => {
      expect(() => target({ GW_URL: text, GW_KEY: 'sk-gw-a' })).toThrow(
        `GW_URL "${text}" is not the URL of a gw: use one such as https://gw.example.com`,
      );
    },
  );

  test('refuses a URL with a secret in it, without quoting it', () => {
    const url = 'https://me:secret@gw.example.com';
    expect(() => target({ GW_URL: url, GW_KEY: 'sk-gw-a' })).toThrow(/^GW_URL: the URL of a gw has no user/);
  });

  test('trims a key and refuses one that is not a word, without quoting it', () => {
    expect(target({ GW_URL: LOGIN.url, GW_KEY: ' sk-gw-a\n' })?.key).toBe('sk-gw-a');
    expect(() => target({ GW_URL: LOGIN.url, GW_KEY: 'two words' })).toThrow(/^GW_KEY is not a key of gw/);
  });
});
