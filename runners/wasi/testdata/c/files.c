#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct record { int id; double value; char name[16]; };

int main(void) {
    FILE *f = fopen("records.bin", "wb+");
    if (!f) { perror("records.bin"); return 1; }
    for (int i = 0; i < 5; i++) {
        struct record r = {i, i * 1.5, ""};
        snprintf(r.name, sizeof r.name, "record %d", i);
        fwrite(&r, sizeof r, 1, f);
    }
    fseek(f, 3 * (long)sizeof(struct record), SEEK_SET);
    struct record r;
    if (fread(&r, sizeof r, 1, f) == 1) printf("%d %.2f %s %ld\n", r.id, r.value, r.name, ftell(f));
    fclose(f);
    mkdir("directory", 0777);
    f = fopen("directory/text.txt", "w");
    fprintf(f, "one\ntwo\nthree\n");
    fclose(f);
    f = fopen("directory/text.txt", "r");
    char line[64];
    for (int n = 1; fgets(line, sizeof line, f); n++) printf("%d: %s", n, line);
    printf("%d %d\n", feof(f) != 0, ferror(f));
    fclose(f);
    struct stat st;
    if (stat("directory/text.txt", &st)) return 1;
    printf("%d %lld\n", S_ISREG(st.st_mode), (long long)st.st_size);
    if (rename("directory/text.txt", "directory/moved.txt")) return 1;
    printf("%d\n", access("directory/text.txt", F_OK));
    DIR *d = opendir("directory");
    for (struct dirent *e; (e = readdir(d));) if (e->d_name[0] != '.') puts(e->d_name);
    closedir(d);
    printf("%d\n", unlink("directory/moved.txt"));
    printf("%d\n", rmdir("directory"));
    if (!fopen("absent", "r")) printf("%d %s\n", errno == ENOENT, strerror(errno));
    unlink("records.bin");
}
