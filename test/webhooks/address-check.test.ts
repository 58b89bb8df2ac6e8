import type { LookupAddress } from 'node:dns';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import {
  type AddressClass,
  type AddressPolicy,
  addressPolicy,
  classOfAddress,
  refusalOf,
} from '../../src/webhooks/address-check.ts';
import { createSend } from '../../src/webhooks/send.ts';
import { DIRECT } from '../support/network.ts';

/** Hosts as a URL may write them, by where they lead. */
const HOSTS: Record<AddressClass, string[]> = {
  loopback: [
    // Dotted, short, decimal, octal, hexadecimal, mixed, with a trailing dot, in full width, percent-encoded.
    '127.0.0.1 127.1 127.0.1 127.0.0.2 127.255.255.255 127.8.8.8 2130706433 017700000001 0x7f000001 0x7F.0.0.1',
    '0x7f.1 0177.0.0.1 0177.0.01 0177.0.0x1 127.0.0.1. 127.1. 0x7f.0x0.0x0.0x1 00000177.1 127.0x1 127.0.0.01',
    '%31%32%37.0.0.1 127%2e0%2e0%2e1 １２７.0.0.1 127。0。0。1 ①②⑦.0.0.1 2130706434 0x7fffffff',
    // IPv6, and IPv4 inside it: mapped, translated, tunnelled, contained.
    '[::1] [0:0:0:0:0:0:0:1] [0000:0000:0000:0000:0000:0000:0000:0001] [::0:1] [0::1]',
    '[::ffff:127.0.0.1] [::ffff:7f00:1] [0:0:0:0:0:ffff:7f00:0001] [::FFFF:127.1.2.3] [::ffff:0:127.0.0.1]',
    '[64:ff9b::127.0.0.1] [64:ff9b::7f00:1] [2002:7f00:1::] [2002:7f00:0001:1234::1] [::127.0.0.1] [::7f00:1]',
  ]
    .join(' ')
    .split(' '),
  private: [
    '10.0.0.1 10.255.255.255 10.1 0xa.0.0.1 167772161 012.0.0.1 172.16.0.1 172.31.255.255 172.16.1 0xac.16.0.1',
    '192.168.0.1 192.168.255.255 192.168.1 3232235777 0xc0a80101 0300.0250.1.1 100.64.0.1 100.127.255.255 100.100.100.201',
    '198.18.0.1 198.19.255.255 [fc00::1] [fd12:3456:789a::1] [fdff::1] [fec0::1] [::ffff:10.0.0.1]',
    '[::ffff:192.168.1.1] [::ffff:c0a8:101] [64:ff9b::10.0.0.1] [2002:a00:1::1] [2002:c0a8:101::] [::10.0.0.1]',
  ]
    .join(' ')
    .split(' '),
  forbidden: [
    '169.254.169.254 169.254.0.1 169.254.170.2 169.254.255.255 2852039166 0xa9fea9fe 0251.0376.0251.0376',
    '169.16689662 169.254.43518 169.254.169.254. 0xa9.254.0xa9.254 100.100.100.200 168.63.129.16 192.0.0.192',
    '0.0.0.0 0 0x0 00 0.0.0.1 0.1.2.3 192.0.2.1 198.51.100.7 203.0.113.9 224.0.0.1 239.255.255.250 240.0.0.1',
    '255.255.255.255 4294967295 0xffffffff [::] [0::0] [fe80::1] [fe80::a9fe:a9fe] [febf::1] [ff02::1] [ff0e::1]',
    '[fd00:ec2::254] [fd20:ce::254] [::ffff:169.254.169.254] [::ffff:a9fe:a9fe] [::ffff:0.0.0.0] [::a9fe:a9fe]',
    '[64:ff9b::169.254.169.254] [64:ff9b::a9fe:a9fe] [64:ff9b:1::1] [2002:a9fe:a9fe::1] [2002:0:0::1] [2001::1]',
    '[2001:0:4136:e378:8000:63bf:3fff:fdd2] [2001:db8::1] [100::1] [::ffff:255.255.255.255] [::ffff:224.0.0.1]',
  ]
    .join(' ')
    .split(' '),
  public: [
    '8.8.8.8 1.1.1.1 134744072 93.184.216.34 9.255.255.255 11.0.0.0 172.15.255.255 172.32.0.1 192.167.255.255',
    '192.169.0.1 100.63.255.255 100.128.0.1 169.253.255.255 169.255.0.1 126.255.255.255 128.0.0.1 198.17.255.255',
    '198.20.0.1 223.255.255.255 168.63.129.17 192.0.1.1 [2606:4700:4700::1111] [2a00:1450::1]',
    '[::ffff:8.8.8.8] [64:ff9b::8.8.8.8] [2002:808:808::1] [fe00::1] [2001:4860::8888]',
  ]
    .join(' ')
    .split(' '),
};
const CASES = Object.entries(HOSTS).flatMap(([kind, hosts]) => hosts.map((host) => ({ host, kind })));
const CLOSED: AddressPolicy = { allowLocal: false, ownPort: 4747 };
const OPEN: AddressPolicy = { allowLocal: true, ownPort: 4747 };

const addressOf = (host: string) => new URL(`http://${host}/`).hostname.replace(/^\[|\]$/g, '');

describe('classOfAddress()', () => {
  it('has at least 150 cases', () => {
    expect(CASES.length).toBeGreaterThanOrEqual(150);
  });

  it.each(CASES)('finds that $host is $kind', ({ host, kind }) => {
    const address = addressOf(host);
    expect(isIP(address)).not.toBe(0);
    expect(classOfAddress(address)).toBe(kind);
  });

  it.each([
    ['fe80::1%eth0.100', 'forbidden'],
    ['fd00::1%1', 'private'],
    ['::1%lo', 'loopback'],
    ['::ffff:8.8.8.8%en-0', 'public'],
    ['::ffff:0:10.0.0.1', 'private'],
    ['::0.0.0.0', 'forbidden'],
    ['::0.0.0.1', 'loopback'],
    ['::0.0.0.2', 'forbidden'],
    ['::127.0.0.1', 'loopback'],
    ['64:FF9B::192.168.0.1', 'private'],
    ['1::127.0.0.1', 'public'],
    ['100:0:0:1::1', 'public'],
  ])('finds that %s, which is in no URL as it stands, is %s', (address, kind) => {
    expect(classOfAddress(address)).toBe(kind);
  });
});

describe('addressPolicy()', () => {
  it.each([
    ['localhost', true],
    ['127.0.0.1', true],
    ['::1', true],
    ['[::1]', true],
    ['0.0.0.0', false],
    ['::', false],
    ['192.168.1.5', false],
    ['gw.example', false],
    ['127.evil.example', false],
  ])('of a gw on %s allows local addresses: %s', (host, allowLocal) => {
    expect(addressPolicy({ host, port: 4747, allowedHosts: [] })).toEqual({ allowLocal, ownPort: 4747 });
  });

  it('allows none if a reverse proxy serves gw under a name', () => {
    const own = { host: 'localhost', port: 4747 };
    expect(addressPolicy({ ...own, allowedHosts: ['gw.example.com'] }).allowLocal).toBe(false);
    expect(addressPolicy({ ...own, allowedHosts: ['localhost'] }).allowLocal).toBe(true);
  });
});

describe('refusalOf()', () => {
  it('allows what is local only while gw listens on localhost alone, and the forbidden never', () => {
    const verdicts = (policy: AddressPolicy) =>
      (['loopback', 'private', 'forbidden', 'public'] as const).map(
        (kind) => new Set(HOSTS[kind].map((host) => refusalOf(addressOf(host), 80, policy) === undefined)),
      );
    expect(verdicts(OPEN)).toEqual([new Set([true]), new Set([true]), new Set([false]), new Set([true])]);
    expect(verdicts(CLOSED)).toEqual([new Set([false]), new Set([false]), new Set([false]), new Set([true])]);
  });

  it("never allows gw's own port on this machine, and lets other machines have it", () => {
    for (const host of HOSTS.loopback)
      expect(refusalOf(addressOf(host), 4747, OPEN)).toContain('is gw itself');
    const own = Object.values(networkInterfaces()).flatMap((entries) => entries ?? []);
    for (const { address } of own) expect(refusalOf(address, 4747, OPEN)).toBeDefined();
    expect(refusalOf('8.8.8.8', 4747, OPEN)).toBeUndefined();
  });
});

describe('a webhook connection', () => {
  let server: Server;
  let port = 0;
  let connections = 0;

  beforeAll(async () => {
    server = createServer((request, response) => {
      if (request.url === '/redirect')
        response.writeHead(307, { location: `http://127.0.0.1:${port}/caught` });
      response.end('reached');
    });
    server.on('connection', () => connections++);
    // All addresses of this machine, so that whatever gets out of the check arrives.
    await new Promise<void>((resolve) => server.listen(0, '::', resolve));
    port = (server.address() as AddressInfo).port;
  });
  afterAll(() => {
    server.close();
  });

  interface Attempt {
    host: string;
    policy: AddressPolicy;
    /** What each look-up of the name answers, in turn. */
    answers?: string[][];
    path?: string;
  }

  async function attempt({ host, policy, answers = [], path = '/' }: Attempt) {
    connections = 0;
    let asked = 0;
    const send = createSend({
      network: () => DIRECT,
      policy: () => policy,
      clock: systemClock,
      lookup: (_name, _options, callback) => {
        const addresses = answers[Math.min(asked++, answers.length - 1)] ?? [];
        const entries: LookupAddress[] = addresses.map((address) => ({ address, family: isIP(address) }));
        setImmediate(() => callback(null, entries));
      },
    });
    const post = () =>
      send({ url: `http://${host}:${port}${path}`, headers: {}, body: Buffer.from('{}'), secrets: [] });
    return { first: await post(), post, opened: () => connections };
  }

  it.each([...HOSTS.loopback, ...HOSTS.private, ...HOSTS.forbidden])('is not opened to %s', async (host) => {
    const { first, opened } = await attempt({ host, policy: CLOSED });
    expect(first).toMatchObject({ ok: false, status: null });
    expect(first.error).toMatch(/which webhooks/);
    expect(opened()).toBe(0);
  });

  it.each([...HOSTS.loopback, ...HOSTS.forbidden])(
    'is not opened to a name that leads to %s',
    async (host) => {
      const { first, opened } = await attempt({
        host: 'hook.example',
        policy: CLOSED,
        answers: [[addressOf(host)]],
      });
      expect(first.error).toMatch(/^hook\.example: .* which webhooks/);
      expect(opened()).toBe(0);
    },
  );

  it('is not opened if one of several addresses is forbidden', async () => {
    const { first, opened } = await attempt({
      host: 'hook.example',
      policy: CLOSED,
      answers: [['8.8.8.8', '127.0.0.1']],
    });
    expect(first.ok).toBe(false);
    expect(opened()).toBe(0);
  });

  it('is opened to localhost, with and without a trailing dot, while local addresses are allowed', async () => {
    for (const host of [
      'localhost',
      'localhost.',
      '127.0.0.1',
      '127.0.0.1.',
      '0x7f.1',
      '[::ffff:127.0.0.1]',
    ]) {
      const { first, opened } = await attempt({ host, policy: OPEN, answers: [['127.0.0.1']] });
      expect([host, first.status, first.response, opened()]).toEqual([host, 200, 'reached', 1]);
    }
  });

  it('checks a name anew at each attempt, and connects to what it has checked', async () => {
    const { first, post, opened } = await attempt({
      host: 'rebinds.example',
      policy: OPEN,
      answers: [['127.0.0.1'], ['169.254.169.254'], ['127.0.0.1']],
    });
    expect(first.status).toBe(200);
    expect((await post()).error).toContain('169.254.169.254 is a link-local');
    expect(opened()).toBe(1);
  });

  it("is not opened to gw's own port", async () => {
    for (const host of ['localhost', '127.0.0.1', '[::1]', '2130706433']) {
      const { first, opened } = await attempt({
        host,
        policy: { allowLocal: true, ownPort: port },
        answers: [['127.0.0.1']],
      });
      expect(first.error).toContain('is gw itself');
      expect(opened()).toBe(0);
    }
  });

  it('follows no redirect', async () => {
    const { first, opened } = await attempt({ host: '127.0.0.1', policy: OPEN, path: '/redirect' });
    expect(first).toMatchObject({ ok: false, status: 307, error: 'HTTP 307 (redirects are not followed)' });
    expect(opened()).toBe(1);
  });
});
