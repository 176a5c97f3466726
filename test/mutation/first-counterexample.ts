/**
 * Ends a property at its first counterexample: it kills the mutant, and shrinking it would only take time. A time limit
 * ends properties whose mutant no case kills soon.
 */
import fc from 'fast-check';

fc.configureGlobal({ endOnFailure: true, interruptAfterTimeLimit: 2_000 });
