# SPDX-License-Identifier: BSD-2-Clause
#
# make install and uninstall: PREFIX, DESTDIR, and the folders under PREFIX one by one.

BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
DATADIR ?= $(PREFIX)/share
MANDIR ?= $(DATADIR)/man
COMPLETIONDIR ?= $(DATADIR)/bash-completion/completions
DOCDIR ?= $(DATADIR)/doc/xpugap
# where Debian's python3 looks
PYTHONDIR ?= $(PREFIX)/lib/$(if $(filter /usr,$(PREFIX)),python3,$(PYTHON_X_Y))/dist-packages
PYTHON_X_Y = $(shell python3 -c 'import sys; print("python%d.%d" % sys.version_info[:2])')

# and where the recorder lets every other Python look: a folder with nothing else in it
RECORDED_PYTHONDIR := $(DATADIR)/xpugap/python
MODULES := $(wildcard userspace/mark/python/*.py)

PC := $(O)/xpugap_mark.pc
MAN_ALL := $(MAN1) $(MAN_HAND)

# mode|file|where to: a row for each file, for install and uninstall alike
row = '$(1)|$(2)|$(DESTDIR)$(3)'
INSTALLED = $(call row,755,$(O)/xpugap,$(BINDIR)/xpugap) \
	$(call row,755,$(O)/libxpugap_mark.so.1,$(LIBDIR)/libxpugap_mark.so.1) \
	$(call row,644,$(O)/libxpugap_mark.a,$(LIBDIR)/libxpugap_mark.a) \
	$(call row,644,userspace/mark/xpugap_mark.h,$(INCLUDEDIR)/xpugap_mark.h) \
	$(call row,644,$(PC),$(LIBDIR)/pkgconfig/xpugap_mark.pc) \
	$(call row,644,$(COMPLETION),$(COMPLETIONDIR)/xpugap) \
	$(foreach f,README.md $(sort $(wildcard LICENSES/*)),$(call row,644,$f,$(DOCDIR)/$f)) \
	$(foreach f,$(MODULES),$(call row,644,$f,$(PYTHONDIR)/$(notdir $f))) \
	$(foreach f,$(MODULES),$(call row,644,$f,$(RECORDED_PYTHONDIR)/$(notdir $f))) \
	$(foreach f,$(MAN_ALL),$(call row,644,$f,$(MANDIR)/man$(subst .,,$(suffix $f))/$(notdir $f)))

# $(call pc,LIBDIR,INCLUDEDIR,MORE LIBS)
pc = printf '%s\n' 'libdir=$(1)' 'includedir=$(2)' '' 'Name: xpugap_mark' \
	'Description: tells the profiler xpugap what a program is doing' 'Version: $(VERSION)' \
	'Libs: -L$${libdir}$(3) -lxpugap_mark' 'Libs.private: -pthread' 'Cflags: -I$${includedir}'

$(PC): $(O)/stamp/install
	$(say) GEN $@
	$(Q)$(call pc,$(LIBDIR),$(INCLUDEDIR)) >$@

# pkg-config prefers a file of this name: PKG_CONFIG_PATH=build is all that it needs
$(O)/xpugap_mark-uninstalled.pc: $(O)/stamp/uninstalled
	$(say) GEN $@
	$(Q)$(call pc,$(abspath $(O)),$(abspath $(O))/include, -Wl$(comma)-rpath$(comma)$${libdir}) >$@

comma := ,
$(eval $(call stamp,install,$(LIBDIR) $(INCLUDEDIR) $(VERSION)))
$(eval $(call stamp,uninstalled,$(abspath $(O)) $(VERSION)))

.PHONY: install uninstall
install: all $(PC)
	$(Q)for row in $(INSTALLED); do \
		IFS='|'; set -- $$row; install -D -m "$$1" "$$2" "$$3" || exit 1; done
	$(Q)ln -sf libxpugap_mark.so.1 '$(DESTDIR)$(LIBDIR)/libxpugap_mark.so'
	$(Q)[ -n '$(DESTDIR)' ] || [ "$$(id -u)" -ne 0 ] || ldconfig
	@echo 'installed in $(DESTDIR)$(PREFIX)'

uninstall:
	$(Q)for row in $(INSTALLED); do IFS='|'; set -- $$row; rm -f "$$3" || exit 1; done
	$(Q)rm -f '$(DESTDIR)$(LIBDIR)/libxpugap_mark.so' \
		$(foreach d,$(PYTHONDIR) $(RECORDED_PYTHONDIR),'$(DESTDIR)$d'/__pycache__/xpugap_mark.*)
	$(Q)for d in '$(DESTDIR)$(RECORDED_PYTHONDIR)' '$(DESTDIR)$(DATADIR)/xpugap'; do \
		rmdir "$$d/__pycache__" "$$d" 2>/dev/null || true; done
	$(Q)[ ! -d '$(DESTDIR)$(DOCDIR)' ] || find '$(DESTDIR)$(DOCDIR)' -depth -type d -empty -delete
	@echo 'removed from $(DESTDIR)$(PREFIX)'
