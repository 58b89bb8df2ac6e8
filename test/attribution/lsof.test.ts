import { expect, test } from 'vitest';
import { createLsofFinder } from '../../src/attribution/lsof.ts';

const SOCKETS = `p812
f21
n127.0.0.1:4747->127.0.0.1:52001
p990
f12
n127.0.0.1:52001->127.0.0.1:4747
f13
n[::1]:52002->[::1]:4747
`;

function run(program: string, args: readonly string[]): string {
  if (program === 'ps') return args.at(-1) === '990' ? '/usr/bin/node agent.mjs\n' : '';
  return args.includes('cwd') ? 'p990\nfcwd\nn/Users/ann/shop\n' : SOCKETS;
}

const from = (remotePort: number, address: string) => ({
  localAddress: address,
  localPort: 4747,
  remoteAddress: address,
  remotePort,
});

test('the finder of macOS reads what lsof and ps print', () => {
  const node = { args: ['/usr/bin/node', 'agent.mjs'], directory: '/Users/ann/shop' };
  const find = createLsofFinder(run);
  expect(find([from(52001, '127.0.0.1'), from(52002, '::1'), from(1, '::1')])).toEqual([
    node,
    node,
    undefined,
  ]);
});

test('the finder of macOS finds nobody where the programs fail', () => {
  expect(createLsofFinder(() => '')([from(52001, '::1')])).toEqual([undefined]);
});
