import { getTableConfig } from 'drizzle-orm/sqlite-core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { blockedSummaries, deliveries, webhookEndpoints } from '../../../src/store/database/schema.ts';
import { createWorld, type World } from '../../webhooks/support/world.ts';

let world: World;
beforeEach(async () => {
  world = await createWorld();
});
afterEach(() => world.close());

describe('the tables of webhooks', () => {
  it.each([webhookEndpoints, deliveries, blockedSummaries])(
    'are in drizzle what they are in SQL',
    (table) => {
      const { name, columns } = getTableConfig(table);
      const made = world.db.pragma(`table_info(${name})`) as {
        name: string;
        type: string;
        notnull: number;
        pk: number;
      }[];
      expect(
        columns.map((column) => [column.name, column.getSQLType(), column.notNull, column.primary]),
      ).toEqual(
        made.map((column) => [column.name, column.type.toLowerCase(), column.notnull === 1, column.pk === 1]),
      );
    },
  );

  it('find open deliveries and the endpoints of a project by an index', () => {
    const plan = (sql: string) =>
      (world.db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[])
        .map(({ detail }) => detail)
        .join();
    expect(plan('SELECT 1 FROM webhook_endpoints WHERE project_id = 1')).toContain(
      'webhook_endpoints_of_project',
    );
    expect(
      plan('SELECT id FROM deliveries WHERE endpoint_id = 1 AND finished_at IS NULL ORDER BY id LIMIT 1'),
    ).toContain('USING INDEX deliveries_open');
  });

  it('never give a number twice', async () => {
    const first = await world.addEndpoint('http://a.example');
    await world.endpoints.remove(first);
    expect(await world.addEndpoint('http://a.example')).toBe(first + 1);
  });
});
