import { describe, expect, test } from 'vitest';
import { type Environment, wayOut, wayText } from '../../src/network/way-out.ts';

const PROXY = 'http://proxy.example:3128';

/** The way to a URL, as text. */
function way(url: string, env: Environment = {}, proxyUrl = '', own?: string): string {
  const setting = own === undefined ? undefined : { address: own, source: 'providers.x.proxy' };
  return wayText(wayOut(new URL(url), { proxyUrl, env }, setting));
}

describe('wayOut()', () => {
  test('reads the variables of the environment, lower case first', () => {
    const env = { HTTP_PROXY: 'http://h:1', HTTPS_PROXY: 'http://s:2', https_proxy: 'http://t:3' };
    expect(way('https://api.example', env)).toBe('through http://t:3 (https_proxy)');
    expect(way('http://api.example', env)).toBe('through http://h:1 (HTTP_PROXY)');
    expect(way('https://api.example', { HTTP_PROXY: 'h:1' })).toBe('through http://h:1 (HTTP_PROXY)');
    expect(way('http://api.example', { HTTPS_PROXY: 'http://s:2' })).toBe('direct');
    expect(way('https://api.example', { HTTPS_PROXY: '' })).toBe('direct');
  });

  test('prefers proxy.url, and the proxy of the destination to all', () => {
    const env = { HTTPS_PROXY: PROXY };
    expect(way('https://api.example', env, 'http://set:1')).toBe('through http://set:1 (proxy.url)');
    expect(way('https://api.example', env, 'none')).toBe('direct');
    expect(way('https://api.example', env, 'http://set:1', 'none')).toBe('direct');
    expect(way('https://api.example', { ...env, NO_PROXY: '*' }, '', 'own:1')).toBe(
      'through http://own:1 (providers.x.proxy)',
    );
  });

  test.each(['http://localhost:11434', 'http://127.0.0.1', 'http://127.9.9.9', 'http://[::1]:8080'])(
    'goes to this machine directly: %s',
    (url) => {
      expect(way(url, { HTTP_PROXY: PROXY }, PROXY)).toBe('direct');
    },
  );

  test.each([
    ['*', 'https://api.example', true],
    ['api.example', 'https://api.example', true],
    ['API.Example', 'https://api.example', true],
    ['example', 'https://api.example', true],
    ['.example', 'https://api.example', true],
    ['*.example', 'https://api.example', true],
    ['pi.example', 'https://api.example', false],
    ['other, api.example', 'https://api.example', true],
    ['other api.example', 'https://api.example', true],
    ['api.example:443', 'https://api.example', true],
    ['api.example:8443', 'https://api.example', false],
    ['api.example:8443', 'https://api.example:8443', true],
    ['10.0.0.0/8', 'http://10.1.2.3', true],
    ['10.0.0.0/8', 'http://11.1.2.3', false],
    ['10.0.0.0/99', 'http://10.1.2.3', false],
    ['10.1.2.3', 'http://10.1.2.3:8000', true],
    ['2.3', 'http://10.1.2.3', false],
    ['fd00::/8', 'http://[fd12::1]', true],
    ['[fd12::1]:80', 'http://[fd12::1]', true],
    ['[fd12::1]:81', 'http://[fd12::1]', false],
    ['fd12::1', 'http://[fd12::1]', true],
    [',', 'https://api.example', false],
  ])('NO_PROXY=%s for %s', (noProxy, url, excepted) => {
    for (const name of ['NO_PROXY', 'no_proxy'])
      expect(way(url, { HTTP_PROXY: PROXY, [name]: noProxy }) === 'direct').toBe(excepted);
  });

  test('shows no password', () => {
    expect(way('https://api.example', { HTTPS_PROXY: 'http://me:s3cret@proxy:1' })).not.toContain('s3cret');
    const bad = () => way('https://api.example', { HTTPS_PROXY: 'socks5://me:s3cret@proxy:1' });
    expect(bad).toThrow(/^HTTPS_PROXY is .* not the address of an http\(s\) proxy/);
    expect(bad).not.toThrow(/s3cret/);
  });
});
