import { expect, test } from 'vitest';
import { FLAGS, type RequestRecord } from '../../../src/store/ledger/record.ts';
import { listRequests, type RequestFilter } from '../../../src/store/requests/request-log.ts';
import { NOON, recordOf } from '../../support/simulator.ts';
import { openShop } from '../../support/simulator-shop.ts';

/** A model's name finds the requests that asked for it, too. */
const named =
  (name: string) =>
  ({ model, askedModel }: RequestRecord): boolean =>
    model === name || askedModel === name;

/** Filters, and which records of the test they match. */
const CASES: [filter: RequestFilter, matches: (record: RequestRecord, index: number) => boolean][] = [
  [{}, () => true],
  [{ projectId: 2 }, ({ projectId }) => projectId === 2],
  [{ keyIds: [3] }, ({ keyId }) => keyId === 3],
  [{ model: 'openai/small' }, ({ model }) => model === 'small'],
  [{ model: 'small' }, named('small')],
  [{ model: 'auto' }, named('auto')],
  [{ model: 'large' }, named('large')],
  [{ model: 'none' }, () => false],
  [{ agent: 'codex' }, ({ agent }) => agent === 'codex'],
  [{ session: 's-1' }, ({ session }) => session === 's-1'],
  [{ session: 's-none' }, () => false],
  [{ session: 's-1', status: 200 }, ({ session, status }) => session === 's-1' && status === 200],
  [{ session: 's-1', model: 'small' }, (record) => record.session === 's-1' && named('small')(record)],
  [{ model: 'small', status: 200 }, (record) => record.status === 200 && named('small')(record)],
  [{ repo: '/srv/shop' }, ({ origin }) => origin?.repo === '/srv/shop'],
  [{ repo: '/srv/none' }, () => false],
  [{ status: 200 }, ({ status }) => status === 200],
  [{ status: 500 }, ({ status }) => status === 500],
  [{ status: 418 }, () => false],
  [{ outcomes: ['ok'] }, ({ outcome }) => outcome === 'ok'],
  [
    { outcomes: ['upstream_error'], projectId: 1 },
    ({ outcome, projectId }) => outcome !== 'ok' && projectId === 1,
  ],
  [{ since: NOON + 5, until: NOON + 9 }, (_, index) => index >= 5 && index < 9],
  [{ limit: 3 }, (_, index) => index >= 9],
];

test('each filter finds its requests, newest first, in the journal and in the archive', async () => {
  const { db, daemon, clock } = await openShop();
  const records: RequestRecord[] = [];
  for (let i = 0; i < 12; i++) {
    clock.set(NOON + i);
    const failed = i % 4 === 1;
    const record = recordOf(daemon.nextId(), {
      projectId: 1 + (i % 2),
      keyId: i % 5,
      model: i % 3 === 0 ? 'small' : 'large',
      askedModel: ['auto', 'small', 'large'][i % 3] ?? '',
      status: failed ? 500 : 200,
      outcome: failed ? 'upstream_error' : 'ok',
      flags: FLAGS.stream,
      agent: i % 3 === 0 ? 'codex' : undefined,
      session: i % 6 === 0 ? 's-1' : undefined,
      origin: { process: 'codex', repo: i % 4 === 0 ? '/srv/shop' : '' },
    });
    records.push(record);
    await daemon.ledger.record(record);
    if (i === 7) await daemon.takeOver();
  }
  for (const [filter, matches] of CASES) {
    const found = (await listRequests(db, filter)).map(({ id }) => id);
    const wanted = records.filter(matches);
    expect(found, JSON.stringify(filter)).toEqual(wanted.map(({ id }) => id).reverse());
  }
});
