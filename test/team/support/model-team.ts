import { addMembership } from '../../../src/store/team/membership.ts';
import type { TeamBudget } from '../../../src/store/team/team-budgets.ts';
import { fingerprintOf } from '../../../src/team/fingerprint.ts';
import type { SyncAuthority } from '../../../src/team/sync-authority.ts';
import type { TestHome } from '../../support/home.ts';
import { AuthorityModel } from '../authority-model.ts';

/** A month as the model has it is a day: its periods are of one length. */
const DAY_MS = 86_400_000;

/** An authority in memory, which real daemons join, and which may be cut off. */
export interface ModelTeam {
  model: AuthorityModel;
  /** While set, nothing reaches it. */
  isDown: boolean;
  /** How often it was asked to sync. */
  syncs: number;
  setCap(capNanoUsd: number): void;
  join(home: TestHome, id: number): void;
  openTeam(token: string, id: number): Promise<SyncAuthority>;
  /** What is granted and reported, of all periods. */
  sums(): { allocated: number; spent: number };
}

export function createModelTeam({ capUsd, project = '' }: { capUsd: number; project?: string }): ModelTeam {
  const budget = { id: 7, everyMs: DAY_MS, cap: capUsd * 1e9 };
  const model = new AuthorityModel([budget]);
  let version = 1;
  const terms = (): TeamBudget => ({
    id: budget.id,
    project,
    period: 'daily',
    capNanoUsd: budget.cap,
    alertPercent: 80,
    offlineNanoUsd: null,
  });
  const team: ModelTeam = {
    model,
    isDown: false,
    syncs: 0,
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
    async openTeam(_token, id) {
      const reached = <T>(answer: () => T): Promise<T> =>
        team.isDown ? Promise.reject(new Error('connection refused')) : Promise.resolve(answer());
      return {
        hello: (old, next) => reached(() => model.hello(id, old, next)),
        sync: (message) =>
          reached(() => {
            team.syncs++;
            const answer = model.sync({ ...message, gateway: id }, Date.now());
            return 'error' in answer ? answer : { ...answer, config: version };
          }),
        config: () => reached(() => ({ name: 'acme', timezone: 'UTC', version, budgets: [terms()] })),
        close: () => Promise.resolve(),
      };
    },
    sums() {
      const periods = [...model.state.periods.values()];
      const sum = (of: 'allocated' | 'spent') => periods.reduce((total, period) => total + period[of], 0);
      return { allocated: sum('allocated'), spent: sum('spent') };
    },
  };
  return team;
}
