import { addMembership } from '../../../src/store/team/membership.ts';
import { TEAM_FIGURES, type TeamUsageBatch, type TeamUsageSum } from '../../../src/store/team/usage.ts';
import type { TeamAuthority, TeamBudgetStanding } from '../../../src/team/authority.ts';
import { fingerprintOf } from '../../../src/team/fingerprint.ts';
import type { TestHome } from '../../support/home.ts';
import { AuthorityModel, startOf } from '../authority-model.ts';

/** A month as the model has it is a day: its periods are of one length. */
const DAY_MS = 86_400_000;

/** An authority in memory, which real daemons join, and which may be cut off. */
export interface ModelTeam {
  model: AuthorityModel;
  /** While set, nothing reaches it. */
  isDown: boolean;
  /** How often it was asked to sync. */
  syncs: number;
  /** The usage that it was told. */
  batches: TeamUsageBatch[];
  setCap(capNanoUsd: number): void;
  join(home: TestHome, id: number): void;
  openTeam(url: string): Promise<TeamAuthority>;
  /** What is granted and reported, of all periods. */
  sums(): { allocated: number; spent: number };
}

export function createModelTeam({ capUsd, project = '' }: { capUsd: number; project?: string }): ModelTeam {
  const budget = { id: 7, everyMs: DAY_MS, cap: capUsd * 1e9 };
  const model = new AuthorityModel([budget]);
  let version = 1;
  const terms = (): TeamBudgetStanding => ({
    id: budget.id,
    project,
    period: 'daily',
    capNanoUsd: budget.cap,
    capVersion: 1,
    alertPercents: [80],
    offlineNanoUsd: null,
    start: startOf(budget, Date.now()),
    ends: startOf(budget, Date.now()) + DAY_MS,
    allocatedNanoUsd: team.sums().allocated,
    spentNanoUsd: team.sums().spent,
    holders: 0,
    isStarved: false,
  });
  const team: ModelTeam = {
    model,
    isDown: false,
    syncs: 0,
    batches: [],
    setCap(cap) {
      budget.cap = cap;
      version++;
    },
    join(home, id) {
      model.join(id, 'first');
      addMembership(home.db, {
        gatewayId: id,
        name: `gateway-${id}`,
        teamName: 'acme',
        token: `token-${id}`,
        nonce: 'first',
        fingerprint: fingerprintOf(home.paths.database),
        timezone: 'UTC',
        courier: 0,
        joinedAt: Date.now(),
      });
    },
    async openTeam() {
      const reached = <T>(answer: () => T): Promise<T> =>
        team.isDown ? Promise.reject(new Error('connection refused')) : Promise.resolve(answer());
      return {
        hello: ({ gateway }, { old, next }) => reached(() => model.hello(gateway, old, next)),
        sync: (_token, message) =>
          reached(() => {
            team.syncs++;
            const answer = model.sync(message, Date.now());
            return 'error' in answer
              ? answer
              : { ...answer, config: version, sync_after_ms: answer.sync_after_ms / 20 };
          }),
        keys: () => reached(() => ({ version: 1, config: version, keys: [] })),
        budgets: () => reached(() => ({ name: 'acme', timezone: 'UTC', version, budgets: [terms()] })),
        pushUsage: (_identity, _nonce, batch) =>
          reached(() => {
            team.batches.push(batch);
            return 'ok' as const;
          }),
        usage: ({ groupBy }) =>
          reached(() => {
            const figures = Object.fromEntries(
              TEAM_FIGURES.map((name) => [name, 1]),
            ) as TeamUsageSum['figures'];
            const key = groupBy === 'day' ? '2026-11-20' : 'laptop';
            return {
              scope: 'team' as const,
              sums: [{ key, member: groupBy === 'key' ? 'ann' : null, figures }],
            };
          }),
        close: () => Promise.resolve(),
        // What the sync agent does not ask for.
      } as Partial<TeamAuthority> as TeamAuthority;
    },
    sums() {
      const periods = [...model.state.periods.values()];
      const sum = (of: 'allocated' | 'spent') => periods.reduce((total, period) => total + period[of], 0);
      return { allocated: sum('allocated'), spent: sum('spent') };
    },
  };
  return team;
}
