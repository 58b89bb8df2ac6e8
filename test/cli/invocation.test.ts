import { describe, expect, test } from 'vitest';
import { invocation, invocationFrom } from '../../src/cli/invocation.ts';

describe('how to type gw when it is not on the PATH', () => {
  test.each([
    ['/home/me/gw/bin/gw', '/home/me/gw', './bin/gw'],
    ['/home/me/gw/bin/gw', '/home/me/other', '/home/me/gw/bin/gw'],
    ["/home/me/my gw's/bin/gw", "/home/me/my gw's", './bin/gw'],
    ["/home/me/my gw's/bin/gw", '/home/me', "'./my gw'\\''s/bin/gw'"],
    ["/home/me/my gw's/bin/gw", '/tmp', "'/home/me/my gw'\\''s/bin/gw'"],
  ])('of %s in %s is %s', (program, directory, name) => {
    expect(invocationFrom(directory, { env: { PATH: '' }, program })).toBe(name);
  });

  test('is a single shell word', () => {
    expect(invocation({ env: {}, program: '/home/me/my gw/bin/gw' })).toBe("'/home/me/my gw/bin/gw'");
  });
});
