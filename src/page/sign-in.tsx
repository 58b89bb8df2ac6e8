import { type FormEvent, useState } from 'preact/compat';
import { Command, Problem } from './parts/layout.tsx';
import { signIn } from './state/session.ts';

/** Shown without a session: how to get one. */
export function SignIn() {
  const [problem, setProblem] = useState<string | undefined>(
    new URLSearchParams(location.search).has('link')
      ? 'This link was used already, or is older than a minute.'
      : undefined,
  );

  async function submit(event: FormEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault();
    const key = String(new FormData(event.currentTarget).get('key')).trim();
    setProblem(await signIn(key).catch(() => 'gw does not answer. If it was stopped: gw start'));
  }

  return (
    <main className="sign-in">
      <h1>gw</h1>
      <Problem text={problem} />
      <p>On the machine that gw runs on:</p>
      <Command text="gw open" />
      <form onSubmit={(event) => void submit(event)}>
        <label className="field">
          <span>Or sign in with a key of gw</span>
          <input name="key" type="password" required autoComplete="off" placeholder="sk-gw-..." />
          <small>The page has the rights of the key. An admin key sees all projects.</small>
        </label>
        <p className="buttons">
          <button type="submit" className="main">
            Sign in
          </button>
        </p>
      </form>
    </main>
  );
}
