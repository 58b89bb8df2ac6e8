import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import pino from 'pino';
import { onTestFinished } from 'vitest';
import { buildGateway } from '../../src/daemon/build-gateway.ts';
import { openCore } from '../../src/daemon/open-core.ts';
import { createPersistentRouter } from '../../src/daemon/persistent-router.ts';
import { openExchange } from '../../src/gateway/context/exchange.ts';
import type { Gateway } from '../../src/gateway/context/gateway.ts';
import type { RequestContext } from '../../src/gateway/context/request-context.ts';
import type { RoutedTarget } from '../../src/gateway/state/resolver.ts';
import { createModelLists } from '../../src/providers/model-lists.ts';
import { chatWire } from '../../src/wire/apis/chat.ts';
import type { Wire } from '../../src/wire/wire.ts';
import { type HomeOptions, prepareHome, type TestHome } from './home.ts';
import { tmpHome } from './tmp-home.ts';
import { createVirtualClock, type VirtualClock } from './virtual-clock.ts';

/** A gateway without a listener: its stages are called directly, on a real ledger and a virtual clock. */
export interface GatewayParts extends TestHome {
  gateway: Gateway;
  clock: VirtualClock;
  /** The warnings that were logged. */
  warnings: string[];
  /** A request of the project's key, as the stages after intake receive it. */
  contextOf(body: object, wire?: Wire): RequestContext;
  /** The targets of a model name. */
  targetsOf(model: string): Promise<readonly RoutedTarget[]>;
  /** The first of them. */
  targetOf(model: string): Promise<RoutedTarget>;
}

/** No test of a single stage calls a provider. */
const NO_UPSTREAM = 'http://127.0.0.1:1/v1';

export async function openGatewayParts(options: Partial<HomeOptions> = {}): Promise<GatewayParts> {
  const clock = createVirtualClock();
  const home = await prepareHome(tmpHome(onTestFinished), {
    upstreamUrl: NO_UPSTREAM,
    now: () => clock.now(),
    ...options,
  });
  const warnings: string[] = [];
  const log = pino(
    { level: 'warn', base: null },
    { write: (line) => void warnings.push(JSON.parse(line).msg) },
  );
  const core = await openCore({ paths: home.paths, env: {}, log, clock });
  const { configuration } = core;
  const lists = createModelLists(
    () => configuration.current().registry.providers.values(),
    async () => [],
    clock,
  );
  const { router } = createPersistentRouter(core);
  const gateway = buildGateway({
    ...core,
    lists,
    router,
    compressor: undefined,
    pasteable: undefined,
    subscriptions: undefined,
  });
  onTestFinished(async () => {
    await gateway.upstreams.close();
    await core.sandbox.close();
    await gateway.tokens.close();
    await gateway.compressor.close();
    await gateway.attribution.close();
    await core.checkpoints.close();
    core.db.close();
    home.db.close();
  });

  async function targetsOf(model: string): Promise<readonly RoutedTarget[]> {
    return await gateway.resolver.resolve(model, 'openai');
  }
  return {
    ...home,
    // What was settled may not be committed yet.
    records() {
      gateway.ledger.flush();
      return home.records();
    },
    holds() {
      gateway.ledger.flush();
      return home.holds();
    },
    gateway,
    clock,
    warnings,
    async setPrice(price) {
      await home.setPrice(price);
      await configuration.reload();
    },
    contextOf(body, wire = chatWire) {
      const request = new IncomingMessage(new Socket());
      request.headers = { authorization: `Bearer ${home.key}`, 'content-type': 'application/json' };
      const exchange = openExchange(
        gateway.nextId(),
        request,
        new ServerResponse(request),
        clock.monotonic(),
      );
      const caller = gateway.authenticator.authenticate(request.headers);
      const parsed = wire.parse(Buffer.from(JSON.stringify(body)));
      return {
        exchange,
        caller,
        project: { id: caller.projectId, name: caller.project, paused: caller.paused },
        origin: { process: '', repo: '' },
        session: { sessionId: '', agent: '', agentVersion: '' },
        wire,
        request: parsed,
        options: parsed.options,
        savedTokens: 0,
      };
    },
    targetsOf,
    async targetOf(model) {
      const [target] = await targetsOf(model);
      if (!target) throw new Error(`no target for ${model}`);
      return target;
    },
  };
}
