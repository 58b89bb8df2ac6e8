import { expect, test } from 'vitest';
import { type Figures, simulate } from './simulation.ts';

interface Fleet {
  gateways: number;
  capUsd: number;
  /** How many percentage points less than one ledger it may have spent at the first refusal. */
  points: number;
}

const FLEETS: Fleet[] = [
  { gateways: 10, capUsd: 50, points: 2 },
  { gateways: 100, capUsd: 500, points: 2 },
];
if (process.env.GW_LONG)
  FLEETS.push(
    { gateways: 1_000, capUsd: 5_000, points: 2 },
    { gateways: 10_000, capUsd: 50_000, points: 2 },
    { gateways: 10, capUsd: 2_000, points: 2 },
    { gateways: 100, capUsd: 2_000, points: 2 },
    { gateways: 1_000, capUsd: 2_000, points: 2 },
    // 20 cents each are a hold or two: most of them are held when the first request finds none.
    { gateways: 10_000, capUsd: 2_000, points: 15 },
  );

test.each(FLEETS)(
  '$gateways gateways spend $capUsd dollars nearly as far as one ledger',
  {
    timeout: 600_000,
  },
  ({ gateways, capUsd, points }) => {
    const team = simulate({ gateways, capUsd });
    const central = simulate({ gateways, capUsd, isCentral: true });
    if (process.env.GW_LONG) console.log(row({ gateways, capUsd }, team, central));
    expect(team.overNanoUsd).toBe(0);
    expect(team.usedAtFirst).toBeGreaterThan(central.usedAtFirst - points);
    expect(team.usedAtEnd).toBeGreaterThan(99.5);
    expect(team.refused).toBeGreaterThan(gateways / 2);
    // The authority asks for 300 a second; waiting requests come on top.
    expect(team.syncs.before).toBeLessThan(300);
    expect(team.syncs.peak).toBeLessThan(1_000);
  },
);

/** A row of the table in docs/teams.md. */
function row({ gateways, capUsd }: { gateways: number; capUsd: number }, team: Figures, central: Figures) {
  const { before, tight, after, peak } = team.syncs;
  const used = ({ usedAtFirst, usedAtEnd }: Figures) => `${usedAtFirst.toFixed(1)}, ${usedAtEnd.toFixed(1)}`;
  const cells = [
    `${gateways.toLocaleString('en')}, $${capUsd.toLocaleString('en')}`,
    used(central),
    used(team),
    `${before.toFixed(1)}, ${tight.toFixed(0)}, ${after.toFixed(0)}, ${peak}`,
    `${team.falselyRefused} of ${team.refused}`,
    `${central.falselyRefused} of ${central.refused}`,
    `${team.waited.toFixed(1)}, ${(team.waitP99 / 1_000).toFixed(1)} s`,
  ];
  return `| ${cells.join(' | ')} |`;
}
