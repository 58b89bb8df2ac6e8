import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createProcFinder } from '../../src/attribution/proc.ts';
import { tmpHome } from '../support/tmp-home.ts';

const HEADER =
  '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode';
const V4 =
  '   0: 0100007F:D2A4 0100007F:128B 01 00000000:00000000 00:00000000 00000000  1000        0 5001 1 0 20 4';
const V6 =
  '   0: 00000000000000000000000001000000:D2A5 00000000000000000000000001000000:128B 01 00000000:00000000 00:00000000 00000000  1000        0 5002 1 0';
const MAPPED =
  '   1: 0000000000000000FFFF00000100007F:D2A6 0000000000000000FFFF00000100007F:128B 01 00000000:00000000 00:00000000 00000000  1000        0 5003 1 0';

interface FakeProcess {
  pid: number;
  cmdline: string;
  sockets: number[];
}

function fakeProc(processes: FakeProcess[]): string {
  const root = tmpHome();
  mkdirSync(join(root, 'net'), { recursive: true });
  writeFileSync(join(root, 'net/tcp'), [HEADER, V4].join('\n'));
  writeFileSync(join(root, 'net/tcp6'), [HEADER, V6, MAPPED].join('\n'));
  for (const { pid, cmdline, sockets } of processes) {
    mkdirSync(join(root, `${pid}/fd`), { recursive: true });
    writeFileSync(join(root, `${pid}/cmdline`), cmdline);
    writeFileSync(join(root, `${pid}/comm`), 'short\n');
    symlinkSync('/srv/shop', join(root, `${pid}/cwd`));
    for (const inode of sockets) symlinkSync(`socket:[${inode}]`, join(root, `${pid}/fd/${inode}`));
  }
  return root;
}

const from = (remotePort: number, address = '127.0.0.1') => ({
  localAddress: address,
  localPort: 0x128b,
  remoteAddress: address,
  remotePort,
});

describe('the finder of Linux', () => {
  test('finds who holds the other end, over IPv4, IPv6 and both', () => {
    const find = createProcFinder(
      fakeProc([
        { pid: 9, cmdline: 'node\0agent.mjs\0', sockets: [1, 5001] },
        { pid: 10, cmdline: 'curl\0', sockets: [5002] },
        { pid: 11, cmdline: '', sockets: [5003] },
      ]),
    );
    expect(find([from(0xd2a4), from(0xd2a5, '::1'), from(0xd2a6), from(0xd2a6, '::ffff:127.0.0.1')])).toEqual(
      [
        { args: ['node', 'agent.mjs'], directory: '/srv/shop' },
        { args: ['curl'], directory: '/srv/shop' },
        { args: ['short'], directory: '/srv/shop' },
        { args: ['short'], directory: '/srv/shop' },
      ],
    );
  });

  test('finds nobody for a connection that is gone, or whose process is not ours to see', () => {
    const find = createProcFinder(fakeProc([{ pid: 9, cmdline: 'node\0', sockets: [] }]));
    expect(find([from(0xd2a4), from(1)])).toEqual([undefined, undefined]);
    expect(createProcFinder('/nowhere')([from(1)])).toEqual([undefined]);
    expect(find([])).toEqual([]);
  });

  test.skipIf(process.platform !== 'linux')('finds a process of this machine', async () => {
    const directory = realpathSync(tmpHome());
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const child = spawn(process.execPath, ['-e', `require('net').connect(${port}, '127.0.0.1')`], {
      cwd: directory,
    });
    onTestFinished(() => {
      child.kill();
      server.close();
    });
    const [socket] = (await once(server, 'connection')) as [Socket];
    const { localAddress = '', localPort = 0, remoteAddress = '', remotePort = 0 } = socket;
    const [caller] = createProcFinder()([{ localAddress, localPort, remoteAddress, remotePort }]);
    expect(caller).toMatchObject({ args: [process.execPath, '-e', expect.any(String)], directory });
    socket.destroy();
  });
});
