import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { formatRequestId } from '../../ids.ts';
import { PRESETS } from '../../providers/presets.ts';
import { listRequests } from '../../store/requests/request-log.ts';
import type { Context } from '../context.ts';
import { withStore } from '../with-store.ts';
import { watchOutside } from './outside.ts';

/** Result of the one request of the agent. */
export type ProofResult =
  | { state: 'covered'; requestId: string }
  | {
      state: 'bypassed';
      /** The host of the model API that it asked instead; undefined if none was seen. */
      wentTo: string | undefined;
      hosts: readonly string[];
      /** The end of what the agent printed. */
      output: string;
    };

interface ProofOptions {
  program: string;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  origin: string;
  /** The key that gw wrote into the agent's settings. */
  keyId: number;
}

const LIMIT_MS = 90_000;
const OUTPUT_CHARS = 2_000;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** Hosts of model APIs beside those of the providers that gw knows. */
const MODEL_HOSTS = ['openrouter.ai', 'api.githubcopilot.com', 'api.cline.bot'];

/**
 * Runs the agent's one harmless request in an empty folder and looks for it in the ledger. Nothing else can leave the
 * machine by the usual ways: a request that goes around gw is refused and costs nothing.
 */
export async function prove(context: Context, options: ProofOptions): Promise<ProofResult> {
  const { program, args, env, origin, keyId } = options;
  const folder = mkdtempSync(join(tmpdir(), 'gw-proof-'));
  const outside = await watchOutside(origin);
  try {
    const child = spawn(program, [...args], {
      cwd: folder,
      // A group of its own, so that what it leaves running can be ended with it.
      detached: process.platform !== 'win32',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...context.env, ...outside.env, ...env },
    });
    const output = await finish(child);
    const requestId = await findRequest(context, keyId);
    if (requestId !== undefined) return { state: 'covered', requestId };
    const hosts = outside.hosts();
    return { state: 'bypassed', wentTo: hosts.find(isModelHost), hosts, output };
  } finally {
    await outside.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Waits for a program to exit, and ends its group. Returns the end of its output. */
function finish(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    let output = '';
    const keep = (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-OUTPUT_CHARS);
    };
    child.stdout?.on('data', keep);
    child.stderr?.on('data', keep);
    const done = () => {
      clearTimeout(timer);
      for (const signal of SIGNALS) process.off(signal, done);
      endGroup(child);
      child.stdout?.destroy();
      child.stderr?.destroy();
      resolve(output.trim());
    };
    const timer = setTimeout(() => {
      output += `\nended by gw after ${LIMIT_MS / 1000} s`;
      done();
    }, LIMIT_MS);
    // The settings are put back after it, instead of leaving them unproven.
    for (const signal of SIGNALS) process.on(signal, done);
    child.on('error', (error) => {
      output += error.message;
      done();
    });
    child.on('exit', done);
  });
}

function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL');
  } catch {
    // Nothing of it runs any more.
  }
}

/** The record of the first request with the key. A request that broke off is recorded a moment after its client. */
async function findRequest(context: Context, keyId: number): Promise<string | undefined> {
  for (let tries = 0; tries < 20; tries++) {
    const found = await withStore(context, (db) => listRequests(db, { keyIds: [keyId] }));
    const first = found.at(-1);
    if (first) return formatRequestId(first.id);
    await sleep(50);
  }
  return undefined;
}

function isModelHost(host: string): boolean {
  const known = Object.values(PRESETS).flatMap(({ baseUrl }) => (baseUrl ? new URL(baseUrl).hostname : []));
  return known.includes(host) || MODEL_HOSTS.some((each) => host === each || host.endsWith(`.${each}`));
}
