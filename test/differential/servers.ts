import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { RawResponse } from '../support/client.ts';
import { freePort } from '../support/free-port.ts';
import { until } from '../support/gateway.ts';
import { installPython } from '../support/install-python.ts';
import type { Reading } from './reading.ts';

const PROGRAMS = join(import.meta.dirname, 'programs');
const CACHE = join(import.meta.dirname, '../../.differential');
const INSTALL_MS = 600_000;
/** Pinned, so that a run can be repeated. */
// biome-ignore format: they fit a line
const PYTHON = ['uvicorn==0.54.0', 'httptools==0.9.0', 'h11==0.16.0', 'starlette==1.10.0', 'python-multipart==0.0.34', 'flask==3.1.3', 'werkzeug==3.1.9', 'gunicorn==27.0.1'];
const EXPRESS = ['express@5.3.0', 'multer@2.5.0'];

/** A server of the kind that providers run. */
export interface Server {
  name: string;
  url: string;
  /** Undefined for an answer that refuses the request. */
  readingIn(answer: RawResponse): Reading | undefined;
}

type WhenDone = (undo: () => Promise<void>) => void;

/** Starts each server, and installs what it needs. One that can't be had is left out, which is said. */
export async function startServers(whenDone: WhenDone): Promise<Server[]> {
  mkdirSync(CACHE, { recursive: true });
  const servers: Server[] = [];
  for (const [name, start] of Object.entries(STARTS)) {
    try {
      const url = `http://127.0.0.1:${await start(whenDone)}`;
      servers.push({ name, url, readingIn: name === 'nginx' ? linesIn : jsonIn });
    } catch (error) {
      console.warn(
        `${name} can't be started, so nothing is compared with it: ${String(error).slice(0, 300)}`,
      );
    }
  }
  return servers;
}

/** Starts one server and returns its port. */
type Start = (whenDone: WhenDone) => Promise<number>;

const uvicorn =
  (parser: string): Start =>
  async (whenDone) => {
    const bin = await installPython(PYTHON);
    const port = await freePort();
    // biome-ignore format: they fit a line
    const args = ['--app-dir', PROGRAMS, '--http', parser, '--port', String(port), '--log-level', 'critical', '--timeout-keep-alive', '600'];
    return listening(spawn(join(bin, 'uvicorn'), ['asgi:app', ...args]), port, whenDone);
  };

const STARTS: Readonly<Record<string, Start>> = {
  'uvicorn with httptools': uvicorn('httptools'),
  'uvicorn with h11': uvicorn('h11'),
  async flask(whenDone) {
    const bin = await installPython(PYTHON);
    const port = await freePort();
    // biome-ignore format: they fit a line
    const args = ['--chdir', PROGRAMS, '--bind', `127.0.0.1:${port}`, '--worker-class', 'gthread', '--threads', '8', '--keep-alive', '600', '--log-level', 'critical', 'wsgi:app'];
    return listening(spawn(join(bin, 'gunicorn'), args), port, whenDone);
  },
  async go(whenDone) {
    const program = join(CACHE, 'go-server');
    await promisify(execFile)('go', ['build', '-o', program, join(PROGRAMS, 'main.go')], {
      timeout: INSTALL_MS,
    });
    return saidPort(spawn(program, [PROGRAMS]), whenDone);
  },
  async nginx(whenDone) {
    const folder = mkdtempSync(join(tmpdir(), 'gw-nginx-'));
    const port = await freePort();
    const routes: string[] = JSON.parse(readFileSync(join(PROGRAMS, 'routes.json'), 'utf8'));
    const conf = readFileSync(join(PROGRAMS, 'nginx.conf'), 'utf8')
      .replace('{PORT}', String(port))
      .replace('{LOCATIONS}', routes.map(locationOf).join('\n'));
    writeFileSync(join(folder, 'nginx.conf'), conf);
    execFileSync('nginx', ['-v'], { stdio: 'ignore' });
    const program = spawn('nginx', ['-p', folder, '-c', 'nginx.conf']);
    return listening(program, port, (undo) =>
      whenDone(async () => {
        await undo();
        rmSync(folder, { recursive: true, force: true });
      }),
    );
  },
  async express(whenDone) {
    const folder = join(CACHE, EXPRESS.join('+'));
    if (!existsSync(join(folder, 'node_modules/express'))) {
      mkdirSync(folder, { recursive: true });
      const args = ['install', '--prefix', folder, '--no-audit', '--no-fund', ...EXPRESS];
      await promisify(execFile)('npm', args, { timeout: INSTALL_MS });
    }
    return saidPort(spawn(process.execPath, [join(PROGRAMS, 'express/server.mjs'), folder]), whenDone);
  },
};

function locationOf(route: string): string {
  const pattern = route.replaceAll('{id}', '[^/]+');
  return `        location ~ ^${pattern}$ { return 200 "${route}\\n$request_method\\n$uri\\n$arg_model\\n"; }`;
}

function stopWhenDone(
  program: ChildProcess,
  whenDone: WhenDone,
): { failed: Promise<never>; output: () => string } {
  let output = '';
  for (const stream of [program.stdout, program.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-4_000);
    });
  const ended = new Promise<string>((resolve) => {
    program.on('error', (error) => resolve(String(error)));
    program.on('exit', (code) => resolve(`it ended with ${code}: ${output}`));
  });
  whenDone(async () => {
    program.kill();
    await ended;
  });
  const failed = ended.then((why): never => {
    throw new Error(why);
  });
  failed.catch(() => {});
  return { failed, output: () => output };
}

async function listening(program: ChildProcess, port: number, whenDone: WhenDone): Promise<number> {
  const { failed } = stopWhenDone(program, whenDone);
  await Promise.race([failed, until(() => accepts(port))]);
  return port;
}

async function saidPort(program: ChildProcess, whenDone: WhenDone): Promise<number> {
  const { failed, output } = stopWhenDone(program, whenDone);
  const said = () => /listening on (\d+)/.exec(output())?.[1];
  await Promise.race([failed, until(() => said() !== undefined)]);
  return Number(said());
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    socket.once('connect', () => socket.destroy());
    socket.once('error', () => resolve(false));
    socket.once('close', (hadError) => resolve(!hadError));
  });
}

function jsonIn({ status, text }: RawResponse): Reading | undefined {
  if (status !== 200 || text() === '') return undefined;
  try {
    return JSON.parse(text());
  } catch {
    // Python writes numbers that JSON has not.
    return JSON.parse(text().replace(/(?<=[[,:] ?)-?(NaN|Infinity)(?=[\],}])/g, 'null'));
  }
}

/** nginx knows the path and the query alone. */
function linesIn({ status, text }: RawResponse): Reading | undefined {
  if (status !== 200 || text() === '') return undefined;
  const [route = '-', method = '', path = '', model = ''] = text().split('\n');
  return {
    route: route === '-' ? null : route,
    method,
    path,
    values: { model: model === '' ? [] : [model] },
    tree: null,
  };
}
