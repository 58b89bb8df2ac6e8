import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { completion } from '../support/chat-scripts.ts';
import { usageOf } from '../support/chat-shapes.ts';
import { freePort } from '../support/free-port.ts';
import { PLAIN, STREAM, startGateway, type TestGateway } from '../support/gateway.ts';
import { status } from '../support/scripts.ts';
import { sse } from '../support/sse-scripts.ts';
import { tmpHome } from '../support/tmp-home.ts';

const DOCS = join(import.meta.dirname, '../../docs/metrics');

async function scrape({ get, adminKey }: TestGateway, accept = 'text/plain') {
  const answer = await get('/metrics', { authorization: `Bearer ${adminKey}`, accept });
  expect(answer.status).toBe(200);
  return { type: answer.header('content-type'), text: answer.text() };
}

/** The value of a series, by its line's beginning. */
function seriesValue(text: string, series: string): number | undefined {
  const line = text.split('\n').find((each) => each.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}

describe('GET /metrics', () => {
  test('counts what the ledger books, from the first scrape on', async () => {
    const gateway = await startGateway({ budget: { period: 'daily', capUsd: 1 } });
    gateway.upstream.queue(completion({ usage: usageOf(9, 9) }));
    await gateway.post(PLAIN);
    await gateway.settled(1);
    expect((await scrape(gateway)).text).not.toContain('gw_requests_total{');
    gateway.upstream.queue(completion({ usage: usageOf(1_000, 10) }));
    await gateway.post(PLAIN);
    gateway.upstream.queue(sse(['a', 'b'], { usage: usageOf(500, 2) }));
    await gateway.post(STREAM);
    gateway.upstream.queue(status(400));
    await gateway.post(PLAIN);
    await gateway.post({ ...PLAIN, model: 'gpt-nowhere' });
    await gateway.setBudget({ period: 'daily', capUsd: 0.001 });
    expect((await gateway.post(PLAIN)).status).toBe(402);
    const records = await gateway.settled(5);
    const { text } = await scrape(gateway);
    const served = 'provider="mock",model="test-model"';
    expect(seriesValue(text, `gw_requests_total{${served},outcome="ok"}`)).toBe(2);
    expect(seriesValue(text, `gw_tokens_total{${served},type="input"}`)).toBe(1_500);
    expect(seriesValue(text, `gw_tokens_total{${served},type="output"}`)).toBe(12);
    expect(seriesValue(text, `gw_cost_usd_total{${served},project="default"}`)).toBeCloseTo(0.001524, 9);
    expect(seriesValue(text, 'gw_request_duration_seconds_count{provider="mock"}')).toBe(3);
    const posted = records.reduce((sum, { costNanoUsd }) => sum + costNanoUsd, 0);
    expect(seriesValue(text, 'gw_budget_spent_usd{budget="default/daily"}')).toBeCloseTo(posted / 1e9, 12);
    expect(seriesValue(text, 'gw_budget_cap_usd{budget="default/daily"}')).toBe(0.001);
    expect(seriesValue(text, 'gw_budget_held_usd{budget="default/daily"}')).toBe(0);
    const outcomes = [...text.matchAll(/^gw_requests_total\{.*outcome="(\w+)"\} (\d+)$/gm)];
    expect(outcomes.reduce((sum, [, , count]) => sum + Number(count), 0)).toBe(records.length - 1);
    // Nothing that grows without bound, or names a person, is a label.
    expect(text).not.toMatch(/gpt-nowhere|session|sk-gw|\/tmp/);
  });

  test('is for admin keys, and for scrapers of both formats at once', async () => {
    const gateway = await startGateway();
    expect((await gateway.get('/metrics')).status).toBe(403);
    expect((await gateway.get('/metrics', { authorization: 'Bearer sk-gw-nobody' })).status).toBe(401);
    const pages = await Promise.all(
      ['application/openmetrics-text; version=1.0.0', 'text/plain', 'application/openmetrics-text'].map(
        (accept) => scrape(gateway, accept),
      ),
    );
    expect(pages.map(({ type }) => type?.split(';')[0])).toEqual([
      'application/openmetrics-text',
      'text/plain',
      'application/openmetrics-text',
    ]);
    expect(pages.map(({ text }) => text.trimEnd().endsWith('# EOF'))).toEqual([true, false, true]);
  });

  test('leaves out budgets of a repository, and shows which providers get nothing', async () => {
    const gateway = await startGateway({ budget: { period: 'daily', capUsd: 1, repo: '/srv/secret' } });
    await scrape(gateway);
    gateway.upstream.queue(status(401));
    await gateway.post(PLAIN);
    const { text } = await scrape(gateway);
    expect(text).not.toContain('/srv/secret');
    expect(text).toMatch(/^gw_provider_blocks\{provider="mock",reason="\w+"\} [1-9]/m);
  });
});

describe('the documents', () => {
  const shown = () => readFileSync(join(DOCS, 'README.md'), 'utf8');

  test('name every metric, and rules and dashboard use no other', async () => {
    const gateway = await startGateway();
    const { text } = await scrape(gateway);
    const names = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name ?? '');
    expect(names.filter((name) => !shown().includes(`\`${name}\``))).toEqual([]);
    for (const file of ['alerts.yaml', 'dashboard.json']) {
      const used = new Set(readFileSync(join(DOCS, file), 'utf8').match(/\b(?:gw|process)_\w+/g));
      const known = [...used].filter((name) => names.some((each) => name.replace(/_bucket$/, '') === each));
      expect([...used].sort()).toEqual(known.sort());
    }
  });

  test('have rules that a real Prometheus takes, and that fire on an outage', async (context) => {
    if (spawnSync('promtool', ['--version']).status !== 0) context.skip('Prometheus is not installed');
    const gateway = await startGateway();
    const folder = tmpHome();
    cpSync(join(DOCS, 'alerts.yaml'), join(folder, 'shipped.yaml'));
    // Minutes become seconds: it is the rules that are tested, not the patience.
    const rules = readFileSync(join(DOCS, 'alerts.yaml'), 'utf8')
      .replace(/for: (\d+)m/g, 'for: 1s')
      .replaceAll('[5m]', '[10s]');
    writeFileSync(join(folder, 'alerts.yaml'), rules);
    writeFileSync(join(folder, 'key'), gateway.adminKey);
    const port = await freePort();
    writeFileSync(
      join(folder, 'prometheus.yml'),
      JSON.stringify({
        global: { scrape_interval: '500ms', scrape_timeout: '500ms', evaluation_interval: '500ms' },
        rule_files: ['alerts.yaml'],
        scrape_configs: [
          {
            job_name: 'gw',
            authorization: { credentials_file: 'key' },
            static_configs: [{ targets: [gateway.origin.slice('http://'.length)] }],
          },
        ],
      }),
    );
    const check = spawnSync('promtool', ['check', 'rules', 'shipped.yaml'], {
      cwd: folder,
      encoding: 'utf8',
    });
    expect([check.status, check.stderr]).toEqual([0, '']);
    stopAfter(
      spawn(
        'prometheus',
        [
          '--config.file=prometheus.yml',
          '--storage.tsdb.path=data',
          `--web.listen-address=127.0.0.1:${port}`,
        ],
        {
          cwd: folder,
          stdio: 'ignore',
        },
      ),
    );
    const firing = async () => {
      gateway.upstream.queue(status(503));
      await gateway.post(PLAIN);
      const answer = await fetch(`http://127.0.0.1:${port}/api/v1/alerts`).catch(() => undefined);
      const { data } = ((await answer?.json()) ?? {}) as {
        data?: { alerts: { state: string; labels: { alertname: string } }[] };
      };
      return (
        data?.alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels.alertname) ?? []
      );
    };
    await expect.poll(firing, { timeout: 60_000, interval: 250 }).toContain('GwProviderFails');
  }, 90_000);
});

function stopAfter(child: ChildProcess): void {
  onTestFinished(() => void child.kill('SIGKILL'));
}
