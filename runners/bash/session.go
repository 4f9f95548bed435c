package bash

import (
	"fmt"
	"os"
	"path/filepath"

	"coderunner/runners"
)

// stateFile is the file of a session's state on disk: a script of declarations.
const stateFile = "state.sh"

// resume takes over what the session's last script left: variables, functions,
// options and the working directory. They are always kept on disk, for they are
// small: nothing lives on in memory.
func (j *job) resume() error {
	s := j.req.Session
	if s == nil {
		return nil
	}
	j.continued = &runners.Continued{Origin: runners.OriginFresh}
	if s.Before == "" || j.guest != nil {
		return nil
	}
	saved, err := s.Saved()
	if err != nil {
		return err
	}
	name, ok := saved[stateFile]
	if !ok {
		j.continued.Origin, j.continued.Lost = runners.OriginLost, "they were not saved"
		return nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("restore the session's variables: %w", err)
	}
	j.shell.Before, j.continued.Origin = string(text), runners.OriginRestored
	return nil
}

// keep saves what the script left. One that a limit ended leaves the state before
// it in force.
func (j *job) keep(o *runners.Outcome) error {
	s, k := j.req.Session, j.continued
	if j.guest != nil {
		return j.keepGuest(o)
	}
	if s.Rollback && o.Status != runners.Succeeded {
		return nil
	}
	for i, v := range j.shell.Variables {
		if i == runners.MaxVariables {
			k.VariablesOmitted = len(j.shell.Variables) - i
			break
		}
		k.Variables = append(k.Variables, runners.Variable{
			Name: runners.Clip(v.Name, runners.MaxVariableText), Type: v.Type,
		})
	}
	if !j.shell.Left {
		return nil
	}
	if err := os.WriteFile(filepath.Join(s.Save, stateFile), []byte(j.shell.After), 0o600); err != nil {
		return fmt.Errorf("save the session's variables: %w", err)
	}
	k.Kept = true
	return j.keepPlaceholders()
}

func (j *job) keepPlaceholders() error {
	if err := j.req.Session.KeepPlaceholders(j.Placeholders); err != nil {
		return fmt.Errorf("save the session's placeholders: %w", err)
	}
	return nil
}

// keepGuest is keep for a guest, which has saved what it left.
func (j *job) keepGuest(o *runners.Outcome) error {
	k := j.main.Continued()
	if k == nil {
		return nil
	}
	o.Continued = k
	if !k.Kept {
		return nil
	}
	return j.keepPlaceholders()
}
