import { type FormEvent, type ReactNode, useId, useRef, useState } from 'preact/compat';
import { readAgain } from '../state/readings.ts';
import { Problem } from './layout.tsx';

interface ActionProps<Answer> {
  /** On the button, and above the question: `Raise`. */
  name: string;
  /** What it is done to, for the heading: `web/daily`. */
  of: string;
  /** What will happen, and the fields that it needs. */
  children: ReactNode;
  isDangerous?: boolean;
  /** What is done. Throws Error with gw's words. */
  run(fields: Readonly<Record<string, string>>): Promise<Answer>;
  /** What the user has to see of the answer. */
  show?(answer: Answer): ReactNode;
}

/** A button that asks before it changes anything. */
export function Action<Answer>({ name, of, children, isDangerous = false, run, show }: ActionProps<Answer>) {
  const dialog = useRef<HTMLDialogElement>(null);
  const title = useId();
  const [problem, setProblem] = useState<string>();
  const [shown, setShown] = useState<ReactNode>();
  const [isRunning, setRunning] = useState(false);

  async function submit(event: FormEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault();
    const fields = Object.fromEntries(
      [...new FormData(event.currentTarget)].map(([field, value]) => [field, String(value).trim()]),
    );
    setRunning(true);
    try {
      const answer = await run(fields);
      await readAgain();
      setProblem(undefined);
      setShown(show?.(answer));
      if (!show) dialog.current?.close();
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
    setRunning(false);
  }

  function close(): void {
    dialog.current?.close();
    setProblem(undefined);
    setShown(undefined);
  }

  return (
    <>
      <button type="button" aria-label={`${name} ${of}`} onClick={() => dialog.current?.showModal()}>
        {name}
      </button>
      <dialog ref={dialog} aria-labelledby={title} onClose={close}>
        <h2 id={title}>
          {name} {of}
        </h2>
        {shown === undefined ? (
          <form onSubmit={(event) => void submit(event)}>
            {children}
            <Problem text={problem} />
            <p className="buttons">
              <button type="button" onClick={close}>
                Cancel
              </button>
              <button type="submit" className={isDangerous ? 'dangerous' : 'main'} disabled={isRunning}>
                {name}
              </button>
            </p>
          </form>
        ) : (
          <>
            {shown}
            <p className="buttons">
              <button type="button" className="main" onClick={close}>
                Done
              </button>
            </p>
          </>
        )}
      </dialog>
    </>
  );
}

interface FieldProps {
  name: string;
  label: string;
  value?: string | undefined;
  hint?: string | undefined;
  type?: 'text' | 'date';
  isNeeded?: boolean;
  choices?: readonly (readonly [value: string, label: string])[];
}

/** A field of a question. */
export function Field({ name, label, value, hint, type = 'text', isNeeded = false, choices }: FieldProps) {
  const id = useId();
  // Preact's types have an input for each type.
  const kind = type === 'date' ? { type } : { type };
  return (
    <p className="field">
      <label htmlFor={id}>{label}</label>
      {choices ? (
        <select id={id} name={name} defaultValue={value}>
          {choices.map(([choice, text]) => (
            <option key={choice} value={choice}>
              {text}
            </option>
          ))}
        </select>
      ) : (
        <input {...kind} id={id} name={name} defaultValue={value} required={isNeeded} autoComplete="off" />
      )}
      {hint === undefined ? null : <small>{hint}</small>}
    </p>
  );
}
